// /rewind: choose a point, look at it, put it back.

import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { chooseFiles } from "./files.ts";
import { clock, counted, type HistoryEntry, oneLine, type Row, rows } from "./history.ts";
import { type Item, Panel, type Preview } from "./panel.ts";
import type { Change, Restored, SnapshotRecord } from "./protocol.ts";
import { historyPlan, historyStep, putBack } from "./restore.ts";
import { reason, type Session, some } from "./session.ts";

const BOTH = "Restore files and conversation";
const FILES = "Restore files only";
const CONVERSATION = "Restore conversation only";
const CHOOSE = "Choose files to restore…";
const SUMMARISE = "Summarise from here (keep files)";
const BACK = "Back";

const PATCH_BYTES_MAX = 200_000;

/** A line of the browser: a step in the history of restores, or a point. */
type Line = { kind: "undo"; plan: Restored } | { kind: "redo"; plan: Restored } | { kind: "point"; row: Row };

/** Opens the browser, and again after "Back", until something was done or the user leaves. */
export async function browse(session: Session, ctx: ExtensionCommandContext): Promise<void> {
  if (session.server.off) return session.say("Rewind is off in this session; see the notice at its start", "warning");
  if (!ctx.hasUI) return;
  try {
    await ctx.waitForIdle();
    await session.points.settle();
    for (let at = 0; ; ) {
      const lines = await collect(session, ctx);
      if (lines.length === 0) return session.say("Rewind: there is no point yet", "info");
      const index = await choose(session, ctx, lines, at);
      const line = index === undefined ? undefined : lines[index];
      if (!line || (await act(session, ctx, line))) return;
      at = index ?? 0;
    }
  } catch (error) {
    session.say(`Rewind failed: ${reason(error)}`, "error");
  }
}

async function collect(session: Session, ctx: ExtensionCommandContext): Promise<Line[]> {
  const manager = ctx.sessionManager;
  const { snapshots } = await session.server.request<{ snapshots: SnapshotRecord[] }>("list", { session: session.id });
  const branch = new Set(manager.getBranch().map((e) => e.id));
  const all = rows(manager.getEntries() as unknown as HistoryEntry[], session.points.all, branch, snapshots);
  const recent = all.slice(0, session.settings.browserPoints);
  const { ids } = await session.server.request<{ ids: string[] }>("exists", { ids: [...new Set(recent.map((r) => r.snapshot))] });
  const there = new Set(ids);
  const lines: Line[] = [];
  for (const kind of ["undo", "redo"] as const) {
    const plan = await historyPlan(session, kind);
    if (plan) lines.push({ kind, plan });
  }
  return [...lines, ...recent.filter((r) => there.has(r.snapshot)).map((row): Line => ({ kind: "point", row }))];
}

/** Lets the user choose a line, beginning at one; undefined if he leaves. */
async function choose(session: Session, ctx: ExtensionCommandContext, lines: Line[], first: number): Promise<number | undefined> {
  const items = lines.map(item);
  if (terminal(ctx)) {
    return ctx.ui.custom<number | undefined>((tui, theme, _keys, done) => {
      const screen = { get rows() { return tui.terminal.rows; }, redraw: () => tui.requestRender() };
      const source = { items, first: Math.min(first, items.length - 1), stat: (i: number) => stat(session, lines[i]), preview: (i: number, signal: AbortSignal) => preview(session, lines[i], signal) };
      return new Panel(source, theme, screen, done);
    });
  }
  const texts = await Promise.all(items.map(async (it, i) => `${i + 1}. ${it.time}  ${it.aside ? "⑂ " : ""}${it.label}  ${await stat(session, lines[i])}`.trim()));
  const chosen = await ctx.ui.select("Rewind: which point?", texts);
  return chosen === undefined ? undefined : texts.indexOf(chosen);
}

/** Whether panels can be shown; Pi before 0.78 does not say its mode, but then only the terminal has a size. */
function terminal(ctx: ExtensionCommandContext): boolean {
  const mode = ctx.mode as string | undefined;
  return mode === undefined ? process.stdout.isTTY === true && !process.argv.includes("rpc") : mode === "tui";
}

function item(line: Line): Item {
  if (line.kind === "undo") return { time: "", label: "↩ undo the last file rewind", aside: false };
  if (line.kind === "redo") return { time: "", label: "↪ redo what was undone", aside: false };
  return { time: clock(line.row.time), label: line.row.label, aside: line.row.aside };
}

/** What a line changed: the point against the one before, the step against now. */
async function stat(session: Session, line: Line | undefined): Promise<string> {
  if (!line) return "";
  if (line.kind !== "point") return counted(line.plan.changes ?? []);
  const { before, snapshot } = line.row;
  if (!before) return "";
  if (before === snapshot) return "";
  const { changes } = await session.server.request<{ changes: Change[] }>("diff", { from: before, to: snapshot, format: "stat" });
  return counted(changes);
}

async function preview(session: Session, line: Line | undefined, signal: AbortSignal): Promise<Preview> {
  if (!line) return { summary: "", lines: [] };
  const from = line.kind === "point" ? line.row.snapshot : line.plan.id;
  const patch = await session.server.request<{ patch: string; truncated?: boolean }>("diff", { from, format: "patch", maxBytes: PATCH_BYTES_MAX }, { signal });
  if (patch.patch === "") return { summary: "The files are as at this point", lines: [] };
  const { changes } = await session.server.request<{ changes: Change[] }>("diff", { from, format: "stat" }, { signal });
  const lines = patch.patch.split("\n").map((l) => l.replace(/\t/g, "    ")).map((l) => l.replace(/[\u0000-\u001f\u007f-\u009f]/g, "·"));
  if (patch.truncated) lines.push("… (more than is shown here)");
  return { summary: `Changed since this point, a restore takes it back: ${counted(changes)}`, lines };
}

/** Carries out what the user wants of a line; false: back to the list. */
async function act(session: Session, ctx: ExtensionCommandContext, line: Line): Promise<boolean> {
  if (line.kind !== "point") {
    const done = await historyStep(session, ctx, line.kind, line.plan);
    if (!done) return false;
    session.record(done);
    session.info(line.kind === "undo" ? "Files restored to before last rewind" : "Files restored to after the undone rewind");
    return true;
  }
  const { entry, label } = line.row;
  const options = entry ? [BOTH, FILES, CONVERSATION, CHOOSE, SUMMARISE, BACK] : [FILES, CHOOSE, BACK];
  const choice = await ctx.ui.select(`Rewind to ${oneLine(label)}`, options);
  if (choice === BACK || choice === undefined) return false;
  if (choice === CHOOSE) return chosenFiles(session, ctx, line.row.snapshot);
  if (choice === FILES) return files(session, ctx, line.row.snapshot);
  return entry === undefined || navigate(session, ctx, entry, choice, line.row.snapshot);
}

async function files(session: Session, ctx: ExtensionCommandContext, snapshot: string, paths?: string[]): Promise<boolean> {
  const done = await putBack(session, ctx, snapshot, paths);
  if (!done) return false;
  session.record(done);
  session.info(paths ? `Restored ${some(paths)}` : "Files restored to rewind point");
  return true;
}

async function chosenFiles(session: Session, ctx: ExtensionCommandContext, snapshot: string): Promise<boolean> {
  const plan = await session.server.request<Restored>("plan", { id: snapshot });
  const paths = await chooseFiles(ctx, plan.changes ?? []);
  return paths === undefined ? false : files(session, ctx, snapshot, paths);
}

/** Moves the conversation, with the files or without; the tree dialog is left out, the answer is known. */
async function navigate(session: Session, ctx: ExtensionCommandContext, entry: string, choice: string, snapshot: string): Promise<boolean> {
  if (choice === BOTH) {
    const done = await putBack(session, ctx, snapshot);
    if (!done) return false;
    session.activity.moves(done, true);
  } else {
    const current = await session.snapshot("tree");
    session.activity.moves(current ? { current } : undefined, true);
  }
  try {
    const result = await ctx.navigateTree(entry, { summarize: choice === SUMMARISE });
    if (result.cancelled) session.say("Rewind: the conversation stays where it is", "warning");
    else session.info(choice === BOTH ? "Files and conversation restored to rewind point" : "Conversation restored to rewind point");
  } finally {
    session.activity.settle();
  }
  return true;
}
