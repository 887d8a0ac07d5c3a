// The browser on the terminal: the points under their prompts above, below what
// a restore of the chosen one would change. It draws and takes keys; what it
// shows it is given. It opens at once, and takes no choice before it is filled.

import type { Theme } from "@earendil-works/pi-coding-agent";
import { keyName } from "./keys.ts";
import { Pane, type Preview, share, windowFrom } from "./pane.ts";
import { fit, fitMiddle } from "./width.ts";

export interface Item {
  /** What the choice of the item answers. */
  line: number;
  /** What stands above the item and those after it with the same one. */
  group: string;
  time: string;
  label: string;
  aside: boolean;
}

export interface Items {
  /** Without points that changed nothing, and with them. */
  folded: readonly Item[];
  all: readonly Item[];
  /** The line to begin with. */
  first: number;
}

export interface PanelSource {
  load(): Promise<Items>;
  /** What the point changed, for the list; called for rows on the screen. */
  stat(line: number): Promise<string>;
  /** What a restore would change; the signal fires when it is no longer wanted. */
  preview(line: number, signal: AbortSignal): Promise<Preview>;
}

export interface Screen {
  rows: number;
  redraw(): void;
}

/** How the panel ended: with the choice of a line, without one, or because it could not be filled. */
export type Outcome = { line: number } | { error: unknown } | undefined;

const STAT_COLUMNS = 20;

export class Panel {
  private items: Items | undefined;
  private unfolded = false;
  private selected = 0;
  private readonly stats = new Map<number, string>();
  private readonly pane: Pane;
  private readonly source: PanelSource;
  private readonly theme: Theme;
  private readonly screen: Screen;
  private readonly done: (outcome: Outcome) => void;

  constructor(source: PanelSource, theme: Theme, screen: Screen, done: (outcome: Outcome) => void) {
    this.source = source;
    this.theme = theme;
    this.screen = screen;
    this.done = done;
    this.pane = new Pane((line, signal) => source.preview(line, signal), () => screen.redraw());
    source.load().then((items) => this.fill(items), (error: unknown) => this.finish({ error }));
  }

  invalidate(): void {}

  dispose(): void {
    this.pane.dispose();
  }

  handleInput(data: string): void {
    const key = keyName(data);
    if (key === "escape" || key === "ctrl+c" || key === "q") return this.finish(undefined);
    const list = this.list;
    if (list.length === 0) return;
    const last = list.length - 1;
    const { list: listRows, pane: paneRows } = this.rows();
    switch (key) {
      case "up": case "k": return this.select(this.selected > 0 ? this.selected - 1 : last);
      case "down": case "j": return this.select(this.selected < last ? this.selected + 1 : 0);
      case "pageUp": return this.select(Math.max(0, this.selected - listRows));
      case "pageDown": return this.select(Math.min(last, this.selected + listRows));
      case "home": case "g": return this.select(0);
      case "end": case "G": return this.select(last);
      case "tab": case "space": case "d": return this.pane.page(1, paneRows);
      case "u": return this.pane.page(-1, paneRows);
      case "f": return this.toggle();
      case "enter": return this.finish({ line: list[this.selected]?.line ?? 0 });
    }
  }

  render(width: number): string[] {
    const line = (text: string) => fit(text, width);
    const rule = this.theme.fg("borderMuted", "─".repeat(Math.max(0, width)));
    const total = this.list.length;
    const where = this.items ? `${this.selected + 1} of ${total}, newest first` : "reading…";
    const folds = this.items && this.items.folded.length < this.items.all.length;
    const unfold = folds ? ` · f ${this.unfolded ? "fold" : "show all"}` : "";
    const { pane } = this.rows();
    return [
      this.theme.fg("accent", line(` ◆ Rewind   ${where}`)),
      rule,
      ...this.rowsOfList(width),
      rule,
      ...this.pane.render(this.theme, this.list[this.selected]?.line ?? -1, width, pane),
      this.theme.fg("dim", line(` ↑↓ choose · enter restore… · tab/u page${unfold} · esc close`)),
    ];
  }

  private get list(): readonly Item[] {
    return (this.unfolded ? this.items?.all : this.items?.folded) ?? [];
  }

  private fill(items: Items): void {
    this.items = items;
    this.unfolded = !items.folded.some((item) => item.line === items.first);
    this.select(Math.max(0, this.list.findIndex((item) => item.line === items.first)));
  }

  private finish(outcome: Outcome): void {
    this.dispose();
    this.done(outcome);
  }

  private select(index: number): void {
    this.selected = index;
    this.pane.want(this.list[index]?.line ?? -1);
    this.screen.redraw();
  }

  /** Folds or unfolds; the cursor stays where it is, or at the next point that is still listed. */
  private toggle(): void {
    const line = this.list[this.selected]?.line ?? 0;
    this.unfolded = !this.unfolded;
    const index = this.list.findIndex((item) => item.line >= line);
    this.select(index < 0 ? this.list.length - 1 : index);
  }

  private rowsOfList(width: number): string[] {
    const lines: { index: number; text: string }[] = [];
    let group = "";
    this.list.forEach((item, index) => {
      if (item.group !== group && item.group !== "") lines.push({ index: -1, text: this.theme.fg("muted", fitMiddle(` ${item.group}`, width)) });
      group = item.group;
      lines.push({ index, text: "" });
    });
    const { list: rows } = this.rows();
    const first = windowFrom(lines.findIndex((l) => l.index === this.selected), lines.length, rows);
    return lines.slice(first, first + rows).map((l) => (l.index < 0 ? l.text : this.row(this.list[l.index] as Item, l.index, width)));
  }

  private row(item: Item, index: number, width: number): string {
    const time = Math.max(0, ...this.list.map((i) => i.time.length)) + 2;
    const stat = this.stat(item.line);
    const timed = item.time === "" ? "" : fit(item.time, time);
    const indent = item.group === "" ? " " : "   "; // what has no prompt does not look as if it were under the one above
    const labelWidth = Math.max(10, width - indent.length - 3 - timed.length - STAT_COLUMNS);
    const text = `${indent}${index === this.selected ? "❯" : " "} ${timed}${fitMiddle((item.aside ? "⑂ " : "") + item.label, labelWidth)} ${fit(stat, STAT_COLUMNS)}`;
    const line = fit(text, width);
    if (index === this.selected) return this.theme.fg("accent", line);
    return item.aside ? this.theme.fg("dim", line) : line;
  }

  private stat(line: number): string {
    const known = this.stats.get(line);
    if (known !== undefined) return known;
    this.stats.set(line, "");
    this.source.stat(line).then(
      (text) => {
        this.stats.set(line, text);
        this.screen.redraw();
      },
      () => {},
    );
    return "";
  }

  private rows(): { list: number; pane: number } {
    const headers = new Set(this.list.map((item) => item.group)).size;
    return share(this.screen.rows, this.list.length + headers);
  }
}
