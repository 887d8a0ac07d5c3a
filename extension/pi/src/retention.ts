// Retention: dropping old snapshots when the user has set limits. The program
// keeps what any session still needs; it knows the limits from its environment.

import type { Retention as Limits } from "./settings.ts";

/** After so many new snapshots the next end of a run drops what is too much. */
const EVERY = 50;
/** How long the end of a session waits for it. */
const END_MS = 5_000;

export interface RetentionHost {
  readonly limits: Limits | undefined;
  /** startup: within the user's budget for starts. timeoutMs: give up after so long. */
  prune(startup: boolean, timeoutMs?: number): Promise<void>;
}

/**
 * Prunes at the start of a session, after many snapshots, and at its end. The
 * start alone would not do: by default only a session's own snapshots and those
 * of its ancestors may go, and a new session has none.
 */
export class Retention {
  private readonly host: RetentionHost;
  private fresh = 0;

  constructor(host: RetentionHost) {
    this.host = host;
  }

  /** Takes note of a new snapshot. */
  taken(): void {
    this.fresh++;
  }

  atStart(): Promise<void> {
    return this.prune(true);
  }

  async afterRun(): Promise<void> {
    if (this.fresh >= EVERY) await this.prune(false);
  }

  async atEnd(): Promise<void> {
    if (this.fresh > 0) await this.prune(false, END_MS);
  }

  private async prune(startup: boolean, timeoutMs?: number): Promise<void> {
    const limits = this.host.limits;
    if (limits?.maxSnapshots === undefined && limits?.maxAgeDays === undefined) return;
    if (!startup) this.fresh = 0;
    await this.host.prune(startup, timeoutMs);
  }
}
