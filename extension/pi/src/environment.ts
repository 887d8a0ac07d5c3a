// The settings of Pi as variables of the rewind program.

import path from "node:path";
import { agentDir, type Retention, type Settings } from "./settings.ts";

/** Directories that smart filtering leaves out where git does not track them. */
const FILTERED = [
  "node_modules/", ".venv/", "venv/", "env/", ".env/", "dist/", "build/",
  ".pytest_cache/", ".mypy_cache/", ".cache/", ".tox/", "__pycache__/",
];

/** Makes the variables; those that are set in the environment of Pi win. sessionDir is where Pi keeps the session. */
export function programEnvironment(settings: Settings, sessionDir: string): Record<string, string> {
  const env = retentionVariables(settings.retention);
  if (settings.smartFilter) {
    env["REWIND_EXCLUDE"] = FILTERED.join(path.delimiter);
    env["REWIND_MAX_FILE_SIZE"] = "10m";
    env["REWIND_LARGE_DIR"] = "200";
  }
  for (const name of Object.keys(env)) env[name] = process.env[name] || (env[name] as string);
  const usual = path.resolve(agentDir()) + path.sep;
  if (path.isAbsolute(sessionDir) && !path.resolve(sessionDir).startsWith(usual)) env["PI_CODING_AGENT_SESSION_DIR"] = sessionDir;
  env["PI_CODING_AGENT_DIR"] = agentDir();
  return env;
}

function retentionVariables(retention: Retention | undefined): Record<string, string> {
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
