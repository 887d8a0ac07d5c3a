// Retention: dropping old snapshots when the user has set limits. The engine
// keeps what any session still needs; the settings reach it as its own.

import type { Session } from "./session.ts";
import type { Retention } from "./settings.ts";

/** Prunes if limits are set; a failure is a warning. */
export async function prune(session: Session): Promise<void> {
  const limits = session.settings.retention;
  if (!limits || (limits.maxSnapshots === undefined && limits.maxAgeDays === undefined) || session.server.off) return;
  try {
    await session.server.request("prune", { session: session.id, startup: true });
  } catch (error) {
    session.failed("old snapshots could not be dropped", error);
  }
}

/** The engine's variables that mean what the settings mean. */
export function retentionEnvironment(retention: Retention | undefined): Record<string, string> {
  if (!retention) return {};
  const env: Record<string, string> = {
    REWIND_PIN_LABELED_ENTRIES: String(retention.pinLabeledEntries),
    REWIND_SCAN_MODE: retention.scanMode,
  };
  if (retention.maxSnapshots !== undefined) env["REWIND_MAX_SNAPSHOTS"] = String(Math.ceil(retention.maxSnapshots));
  if (retention.maxAgeDays !== undefined) env["REWIND_MAX_AGE_DAYS"] = String(Math.ceil(retention.maxAgeDays));
  if (retention.startupBudgetMs !== undefined) env["REWIND_STARTUP_BUDGET_MS"] = String(Math.ceil(retention.startupBudgetMs));
  return env;
}
