// A pane below a list that shows what the chosen line would change. It loads
// when the cursor rests, forgets what is no longer wanted, and can be paged.

import type { Theme } from "@earendil-works/pi-coding-agent";
import { fit } from "./width.ts";

/** What a pane shows of a line, once it is known. */
export interface Preview {
  summary: string;
  lines: string[];
}

const DELAY_MS = 60;

export class Pane {
  private scroll = 0;
  private shown: { index: number; preview: Preview } | undefined;
  private wanted: AbortController | undefined;
  private readonly load: (index: number, signal: AbortSignal) => Promise<Preview>;
  private readonly redraw: () => void;

  constructor(load: (index: number, signal: AbortSignal) => Promise<Preview>, redraw: () => void) {
    this.load = load;
    this.redraw = redraw;
  }

  dispose(): void {
    this.wanted?.abort();
  }

  /** Shows the preview of a line as soon as it is there. */
  want(index: number): void {
    this.scroll = 0;
    this.wanted?.abort();
    const wanted = new AbortController();
    this.wanted = wanted;
    setTimeout(() => void this.fetch(index, wanted.signal), DELAY_MS);
  }

  page(by: number, rows: number): void {
    const lines = this.shown?.preview.lines.length ?? 0;
    this.scroll = Math.max(0, Math.min(this.scroll + by * rows, lines - rows));
    this.redraw();
  }

  render(theme: Theme, index: number, width: number, rows: number): string[] {
    const preview = this.shown?.index === index ? this.shown.preview : { summary: "…", lines: [] };
    const total = preview.lines.length;
    const shown = preview.lines.slice(this.scroll, this.scroll + rows);
    const position = total > rows ? `lines ${this.scroll + 1}–${this.scroll + shown.length} of ${total} ` : "";
    while (shown.length < rows) shown.push("");
    const summary = fit(` ${preview.summary}`, width - position.length) + position;
    return [theme.bold(fit(summary, width)), ...shown.map((l) => colour(theme, l, fit(` ${l}`, width)))];
  }

  private async fetch(index: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    let preview: Preview;
    try {
      preview = await this.load(index, signal);
    } catch (error) {
      preview = { summary: (error as Error).message, lines: [] };
    }
    if (signal.aborted) return;
    this.shown = { index, preview };
    this.redraw();
  }
}

function colour(theme: Theme, line: string, text: string): string {
  if (/^(\+\+\+|---) /.test(line)) return theme.fg("muted", text);
  if (line.startsWith("+")) return theme.fg("toolDiffAdded", text);
  if (line.startsWith("-")) return theme.fg("toolDiffRemoved", text);
  if (line.startsWith("@@")) return theme.fg("accent", text);
  return theme.fg(line.startsWith(" ") ? "toolDiffContext" : "muted", text);
}

/** The rows of the screen that a list and the pane below it get; the rest is Pi's, and for frames. */
export function share(screenRows: number, lines: number): { list: number; pane: number } {
  const list = Math.max(3, Math.min(lines, Math.floor((screenRows - 8) / 2)));
  return { list, pane: Math.max(3, Math.min(18, screenRows - 10 - list)) };
}

/** The first line of a window of so many rows that shows the chosen one. */
export function windowFrom(chosen: number, total: number, rows: number): number {
  return Math.max(0, Math.min(chosen - Math.floor(rows / 2), total - rows));
}
