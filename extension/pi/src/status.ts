// The footer: how many points and snapshots the session has, and what failed last.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

const KEY = "rewind";
const FAILURE_CHARS = 60;

export class Status {
  private failure: string | undefined;
  private points = 0;
  private snapshots = 0;
  private readonly silent: boolean;

  constructor(silent: boolean) {
    this.silent = silent;
  }

  /** Counts the bindings, which are entries with their snapshots. */
  count(bound: ReadonlyMap<string, string>): void {
    this.points = bound.size;
    this.snapshots = new Set(bound.values()).size;
  }

  /** Remembers what failed until something works again; undefined: it works. */
  failed(message: string | undefined): void {
    this.failure = message?.replace(/\s+/g, " ");
  }

  show(ctx: ExtensionContext): void {
    if (!ctx.hasUI) return;
    const theme = ctx.ui.theme;
    const parts: string[] = [];
    if (!this.silent) parts.push(theme.fg("dim", "◆ ") + theme.fg("muted", `${this.points} points / ${this.snapshots} snapshots`));
    if (this.failure) parts.push(theme.fg("warning", `⚠ rewind: ${shorten(this.failure)}`));
    ctx.ui.setStatus(KEY, parts.length > 0 ? parts.join(" ") : undefined);
  }

  clear(ctx: ExtensionContext): void {
    if (ctx.hasUI) ctx.ui.setStatus(KEY, this.failure ? ctx.ui.theme.fg("warning", `⚠ rewind: ${shorten(this.failure)}`) : undefined);
  }
}

function shorten(text: string): string {
  return text.length > FAILURE_CHARS ? `${text.slice(0, FAILURE_CHARS - 1)}…` : text;
}
