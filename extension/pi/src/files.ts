// Choosing single files of a point.

import type { ExtensionContext, Theme } from "@earendil-works/pi-coding-agent";
import { type Choice, type Choices, choicesOf, chosenPaths } from "./choice.ts";
import { oneLine } from "./history.ts";
import { keyName } from "./keys.ts";
import { Pane, type Preview, share, windowFrom } from "./pane.ts";
import type { Screen } from "./panel.ts";
import type { Change } from "./protocol.ts";
import { counted } from "./restore.ts";
import { fit, fitMiddle } from "./width.ts";

const ALL = "Mark all";
const NO = "Mark none";
const CANCEL = "Cancel";
const VERBS: Readonly<Record<Change["status"], string>> = { A: "bring back", D: "delete", M: "restore", T: "restore" };

/** What a restore would do to the path of a change. */
export function verb(change: Change): string {
  return VERBS[change.status];
}

export interface FilesSource {
  changes: readonly Change[];
  /** What the restore of one path would change. */
  preview(path: string, signal: AbortSignal): Promise<Preview>;
}

/** Lets the user mark changes; undefined if he leaves without choosing. Panels are for the terminal. */
export async function chooseFiles(ctx: ExtensionContext, source: FilesSource, panels: boolean): Promise<string[] | undefined> {
  const choices = choicesOf(source.changes);
  if (choices.list.length === 0) {
    ctx.ui.notify("The files are as at this point", "info");
    return undefined;
  }
  if (!panels) return select(ctx, choices);
  return ctx.ui.custom<string[] | undefined>((tui, theme, _keys, done) => {
    const screen = { get rows() { return tui.terminal.rows; }, redraw: () => tui.requestRender() };
    return new FilesPanel(choices, source, theme, screen, done);
  });
}

async function select(ctx: ExtensionContext, choices: Choices): Promise<string[] | undefined> {
  const marked = new Set<number>();
  for (;;) {
    const go = `Restore the ${marked.size} marked`;
    const lines = choices.list.map((c, i) => `${marked.has(i) ? "[x]" : "[ ]"} ${i + 1}. ${describe(c)}`);
    const choice = await ctx.ui.select("Which files?", [...(marked.size > 0 ? [go] : []), ...lines, ALL, NO, CANCEL]);
    if (choice === undefined || choice === CANCEL) return undefined;
    if (choice === go) return chosenPaths(choices, marked);
    if (choice === ALL) lines.forEach((_l, i) => marked.add(i));
    else if (choice === NO) marked.clear();
    else if (!marked.delete(lines.indexOf(choice))) marked.add(lines.indexOf(choice));
  }
}

function describe(choice: Choice): string {
  const more = choice.with > 0 ? ` (in place of a folder with ${counted(choice.with, "change")})` : "";
  return `${verb(choice.change)} ${oneLine(choice.change.path)}${more}`;
}

/** The list of files on the terminal, with the changes of the one under the cursor below it. */
export class FilesPanel {
  private selected = 0;
  private readonly marked = new Set<number>();
  private hint = "";
  private readonly pane: Pane;
  private readonly choices: Choices;
  private readonly theme: Theme;
  private readonly screen: Screen;
  private readonly done: (paths: string[] | undefined) => void;

  constructor(choices: Choices, source: FilesSource, theme: Theme, screen: Screen, done: (paths: string[] | undefined) => void) {
    this.choices = choices;
    this.theme = theme;
    this.screen = screen;
    this.done = done;
    this.pane = new Pane((i, signal) => source.preview(choices.list[i]?.change.path ?? "", signal), () => screen.redraw());
    this.select(0);
  }

  invalidate(): void {}

  dispose(): void {
    this.pane.dispose();
  }

  handleInput(data: string): void {
    const last = this.choices.list.length - 1;
    const { list, pane } = share(this.screen.rows, last + 1);
    this.hint = "";
    switch (keyName(data)) {
      case "up": case "k": return this.select(this.selected > 0 ? this.selected - 1 : last);
      case "down": case "j": return this.select(this.selected < last ? this.selected + 1 : 0);
      case "pageUp": return this.select(Math.max(0, this.selected - list));
      case "pageDown": return this.select(Math.min(last, this.selected + list));
      case "home": case "g": return this.select(0);
      case "end": case "G": return this.select(last);
      case "space": case "x": return this.mark(() => this.marked.delete(this.selected) || this.marked.add(this.selected));
      case "a": return this.mark(() => this.choices.list.forEach((_c, i) => this.marked.add(i)));
      case "n": return this.mark(() => this.marked.clear());
      case "tab": case "d": return this.pane.page(1, pane);
      case "u": return this.pane.page(-1, pane);
      case "enter": return this.enter();
      case "escape": case "ctrl+c": case "q": return this.finish(undefined);
    }
  }

  render(width: number): string[] {
    const { theme, choices } = this;
    const rule = theme.fg("borderMuted", "─".repeat(Math.max(0, width)));
    const rows = share(this.screen.rows, choices.list.length);
    const first = windowFrom(this.selected, choices.list.length, rows.list);
    const shown = choices.list.slice(first, first + rows.list).map((c, i) => this.row(c, first + i, width));
    return [
      theme.fg("accent", fit(` ◆ Which files?   ${this.marked.size} of ${choices.list.length} marked${this.hint}`, width)),
      rule,
      ...shown,
      rule,
      ...this.pane.render(theme, this.selected, width, rows.pane),
      theme.fg("dim", fit(" space mark · a all · n none · enter restore the marked · tab/u page · esc back", width)),
    ];
  }

  private row(choice: Choice, index: number, width: number): string {
    const line = fitMiddle(` ${index === this.selected ? "❯" : " "} ${this.marked.has(index) ? "[x]" : "[ ]"} ${describe(choice)}`, width);
    return index === this.selected ? this.theme.fg("accent", line) : line;
  }

  private select(index: number): void {
    this.selected = index;
    this.pane.want(index);
    this.screen.redraw();
  }

  private mark(change: () => unknown): void {
    change();
    this.screen.redraw();
  }

  private enter(): void {
    if (this.marked.size > 0) return this.finish(chosenPaths(this.choices, this.marked));
    this.hint = " · mark with Space first";
    this.screen.redraw();
  }

  private finish(paths: string[] | undefined): void {
    this.dispose();
    this.done(paths);
  }
}
