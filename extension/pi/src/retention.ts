// Retention: dropping old snapshots when the user has set limits. The program
// keeps what any session still needs; it knows the limits from its environment.

import type { Retention as Limits } from "./settings.ts";

export interface RetentionHost {
  readonly limits: Limits | undefined;
  prune(startup: boolean): Promise<void>;
}

export class Retention {
  private readonly host: RetentionHost;

  constructor(host: RetentionHost) {
    this.host = host;
  }

  /** Drops what is beyond the limits, at the start of a session. */
  async atStart(): Promise<void> {
    if (this.limited) await this.host.prune(true);
  }

  private get limited(): boolean {
    const limits = this.host.limits;
    return limits?.maxSnapshots !== undefined || limits?.maxAgeDays !== undefined;
  }
}
