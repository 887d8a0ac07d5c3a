// The browser on the terminal: the list of points above, what changed since
// the chosen one below. It draws and takes keys; what it shows it is given.

import type { Theme } from "@earendil-works/pi-coding-agent";
import { keyName } from "./keys.ts";
import { fit } from "./width.ts";

export interface Item {
  time: string;
  label: string;
  aside: boolean;
}

/** What the panel shows of an item, once it is known. */
export interface Preview {
  summary: string;
  lines: string[];
}

export interface PanelSource {
  items: readonly Item[];
  /** The item to begin with. */
  first: number;
  /** What the point changed, for the list; called for rows on the screen. */
  stat(index: number): Promise<string>;
  /** What changed since the point; the signal fires when it is no longer wanted. */
  preview(index: number, signal: AbortSignal): Promise<Preview>;
}

export interface Screen {
  rows: number;
  redraw(): void;
}

const PREVIEW_DELAY_MS = 60;
const STAT_COLUMNS = 24;

export class Panel {
  private selected = 0;
  private readonly timeColumns: number;
  private scroll = 0;
  private readonly stats = new Map<number, string>();
  private shown: { index: number; preview: Preview } | undefined;
  private wanted: AbortController | undefined;
  private readonly source: PanelSource;
  private readonly theme: Theme;
  private readonly screen: Screen;
  private readonly done: (index: number | undefined) => void;

  constructor(source: PanelSource, theme: Theme, screen: Screen, done: (index: number | undefined) => void) {
    this.timeColumns = Math.max(0, ...source.items.map((item) => item.time.length)) + 2;
    this.source = source;
    this.theme = theme;
    this.screen = screen;
    this.done = done;
    this.select(source.first);
  }

  invalidate(): void {}

  dispose(): void {
    this.wanted?.abort();
  }

  handleInput(data: string): void {
    const last = this.source.items.length - 1;
    switch (keyName(data)) {
      case "up": case "k": return this.select(this.selected > 0 ? this.selected - 1 : last);
      case "down": case "j": return this.select(this.selected < last ? this.selected + 1 : 0);
      case "pageUp": return this.select(Math.max(0, this.selected - this.listRows()));
      case "pageDown": return this.select(Math.min(last, this.selected + this.listRows()));
      case "home": case "g": return this.select(0);
      case "end": case "G": return this.select(last);
      case "tab": case "space": case "d": return this.turn(this.previewRows());
      case "u": return this.turn(-this.previewRows());
      case "enter": return this.finish(this.selected);
      case "escape": case "ctrl+c": case "q": return this.finish(undefined);
    }
  }

  render(width: number): string[] {
    const line = (text: string) => fit(text, width);
    const rule = this.theme.fg("borderMuted", "─".repeat(Math.max(0, width)));
    const total = this.source.items.length;
    return [
      this.theme.fg("accent", line(` ◆ Rewind   ${this.selected + 1} of ${total}, newest first`)),
      rule,
      ...this.list(width),
      rule,
      ...this.below(width),
      this.theme.fg("dim", line(" ↑↓ choose · enter restore… · tab/u page the changes · esc close")),
    ];
  }

  private finish(index: number | undefined): void {
    this.dispose();
    this.done(index);
  }

  private select(index: number): void {
    this.selected = index;
    this.scroll = 0;
    this.wanted?.abort();
    const wanted = new AbortController();
    this.wanted = wanted;
    setTimeout(() => void this.load(index, wanted.signal), PREVIEW_DELAY_MS);
    this.screen.redraw();
  }

  private async load(index: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    let preview: Preview;
    try {
      preview = await this.source.preview(index, signal);
    } catch (error) {
      preview = { summary: (error as Error).message, lines: [] };
    }
    if (signal.aborted) return;
    this.shown = { index, preview };
    this.screen.redraw();
  }

  private turn(by: number): void {
    const lines = this.shown?.preview.lines.length ?? 0;
    this.scroll = Math.max(0, Math.min(this.scroll + by, lines - this.previewRows()));
    this.screen.redraw();
  }

  private list(width: number): string[] {
    const rows = this.listRows();
    const first = Math.max(0, Math.min(this.selected - Math.floor(rows / 2), this.source.items.length - rows));
    return this.source.items.slice(first, first + rows).map((item, i) => this.row(item, first + i, width));
  }

  private row(item: Item, index: number, width: number): string {
    const stat = this.stat(index);
    const labelWidth = Math.max(10, width - 2 - this.timeColumns - STAT_COLUMNS);
    const text = `${index === this.selected ? "❯" : " "} ${fit(item.time, this.timeColumns)}${fit((item.aside ? "⑂ " : "") + item.label, labelWidth)}${fit(stat, STAT_COLUMNS)}`;
    const line = fit(text, width);
    if (index === this.selected) return this.theme.fg("accent", line);
    return item.aside ? this.theme.fg("dim", line) : line;
  }

  private stat(index: number): string {
    const known = this.stats.get(index);
    if (known !== undefined) return known;
    this.stats.set(index, "");
    this.source.stat(index).then(
      (text) => {
        this.stats.set(index, text);
        this.screen.redraw();
      },
      () => {},
    );
    return "";
  }

  private below(width: number): string[] {
    const preview = this.shown?.index === this.selected ? this.shown.preview : { summary: "…", lines: [] };
    const rows = this.previewRows();
    const shown = preview.lines.slice(this.scroll, this.scroll + rows);
    while (shown.length < rows) shown.push("");
    const rest = preview.lines.length - this.scroll - rows;
    const summary = preview.summary + (rest > 0 ? `   (${rest} more lines)` : "");
    return [this.theme.bold(fit(` ${summary}`, width)), ...shown.map((l) => this.colour(l, fit(` ${l}`, width)))];
  }

  private colour(line: string, text: string): string {
    if (/^(\+\+\+|---) /.test(line)) return this.theme.fg("muted", text);
    if (line.startsWith("+")) return this.theme.fg("toolDiffAdded", text);
    if (line.startsWith("-")) return this.theme.fg("toolDiffRemoved", text);
    if (line.startsWith("@@")) return this.theme.fg("accent", text);
    return this.theme.fg(line.startsWith(" ") ? "toolDiffContext" : "muted", text);
  }

  private listRows(): number {
    return Math.max(3, Math.min(this.source.items.length, Math.floor((this.screen.rows - 8) / 2)));
  }

  private previewRows(): number {
    return Math.max(3, Math.min(18, this.screen.rows - 10 - this.listRows()));
  }
}
