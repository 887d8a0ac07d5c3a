// /rewind: choose a point, look at what its restore would change, put it back.

import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { chooseFiles, verb } from "./files.ts";
import { clock, countedLines, fold, type Group, groups, type HistoryEntry, oneLine, type Row } from "./history.ts";
import type { Preview } from "./pane.ts";
import { type Item, type Items, type Outcome, Panel } from "./panel.ts";
import type { Change, ExistsResult as Existing, Plan, Record as SnapshotRecord } from "./protocol.ts";
import { branchName, counts, effect, files, LEAVE, planOf, type PutBack, putBack, type Step, stepPlan, takeStep, tellDone } from "./restore.ts";
import { reason, type Session, some } from "./session.ts";

const CONVERSATION = "Restore conversation only (files stay)";
const CHOOSE = "Choose files to restore…";
const SUMMARISE = "Summarise from here (files stay)";
const BACK = "Back";

const PATCH_BYTES_MAX = 200_000;

/** A line of the browser: a step in the history of restores, or a point. */
type Line = { kind: Step } | { kind: "point"; row: Row; group: string; branch: string | undefined };

/** All lines; of the points those that remain when unchanged ones are folded. */
interface Content {
  lines: Line[];
  folded: ReadonlyMap<Line, Row>;
}

/** Opens the browser, and again after "Back", until something was done or the user leaves. */
export async function browse(session: Session, ctx: ExtensionCommandContext): Promise<void> {
  if (!ctx.hasUI) return;
  if (!(await session.server.ready())) return session.say(session.server.why ?? "Rewind is off", "warning");
  // Not later by itself: then the keys of somebody who types would restore files.
  if (session.activity.running && !ctx.isIdle()) return session.say("Rewind: the agent is at work; press Esc to stop it, then call /rewind", "warning");
  try {
    for (let at: Line | undefined; ; ) {
      const line = await choose(session, ctx, at);
      if (!line || (await session.dialog(ctx, () => act(session, ctx, line)))) return;
      at = line;
    }
  } catch (error) {
    if (error === EMPTY) session.say("Rewind: there is no point yet; each message makes one", "info");
    else session.say(`Rewind failed: ${reason(error)}`, "error");
  }
}

const EMPTY = new Error("there is no point");

/** Lets the user choose a line, beginning at one; undefined if he leaves. */
async function choose(session: Session, ctx: ExtensionCommandContext, at: Line | undefined): Promise<Line | undefined> {
  let content: Content = { lines: [], folded: new Map() };
  const load = async () => (content = await collect(session, ctx));
  if (!terminal(ctx)) return chooseInList(session, ctx, await load());
  const outcome = await ctx.ui.custom<Outcome>((tui, theme, _keys, done) => {
    const screen = { get rows() { return tui.terminal.rows; }, redraw: () => tui.requestRender() };
    const source = {
      load: async () => items(await load(), at),
      stat: (i: number) => stat(session, content.lines[i]),
      preview: (i: number, signal: AbortSignal) => preview(session, content.lines[i], signal),
    };
    return new Panel(source, theme, screen, done);
  });
  if (outcome && "error" in outcome) throw outcome.error;
  return outcome && content.lines[outcome.line];
}

async function chooseInList(session: Session, ctx: ExtensionCommandContext, { lines }: Content): Promise<Line | undefined> {
  const texts = await Promise.all(lines.map(async (line, i) => {
    if (line.kind !== "point") return `${i + 1}.   ${STEPS[line.kind].row}`;
    return `${i + 1}. ${clock(line.row.time)}  ${line.row.aside ? "⑂ " : ""}${mark(line)}${line.row.full}  ${await stat(session, line)}`.trim();
  }));
  const chosen = await ctx.ui.select("Rewind: which point?", texts);
  return chosen === undefined ? undefined : lines[texts.indexOf(chosen)];
}

/** Whether panels can be shown; Pi before 0.78 does not say its mode, but then only the terminal has a size. */
function terminal(ctx: ExtensionCommandContext): boolean {
  const mode = ctx.mode as string | undefined;
  return mode === undefined ? process.stdout.isTTY === true && !process.argv.includes("rpc") : mode === "tui";
}

async function collect(session: Session, ctx: ExtensionCommandContext): Promise<Content> {
  await session.points.settle();
  const all = await history(session, ctx);
  const rows = all.flatMap((group) => group.rows.map((row) => ({ row, group: group.title }))).slice(0, session.settings.browserPoints);
  const there = await session.server.request<Existing>("exists", { ids: [...new Set(rows.map((r) => r.row.snapshot))] });
  const ids = new Set(there.ids);
  const branchOf = (id: string) => (there.branches?.[id] === there.here ? undefined : there.branches?.[id]);
  const points = rows.filter((r) => ids.has(r.row.snapshot)).map(({ row, group }): Line => ({ kind: "point", row, group, branch: branchOf(row.snapshot) }));
  const listed = new Map(points.map((line) => [line.kind === "point" ? line.row : undefined, line]));
  const { undo, redo } = await session.server.request<{ undo: number; redo: number }>("status");
  const steps: Line[] = [...(undo > 0 ? [{ kind: "undo" } as const] : []), ...(redo > 0 ? [{ kind: "redo" } as const] : [])];
  if (points.length + steps.length === 0) throw EMPTY;
  return { lines: [...steps, ...points], folded: foldedLines(all, listed) };
}

async function history(session: Session, ctx: ExtensionCommandContext): Promise<Group[]> {
  const manager = ctx.sessionManager;
  const { snapshots } = await session.server.request<{ snapshots: SnapshotRecord[] }>("list", { session: session.id });
  return groups({
    entries: manager.getEntries() as unknown as HistoryEntry[], bound: session.points.all,
    branch: new Set(manager.getBranch().map((e) => e.id)), records: snapshots, session: session.id, pins: await session.pins(),
  });
}

/** Which lines remain when points that changed nothing are folded, and how they read then. */
function foldedLines(all: Group[], listed: ReadonlyMap<Row | undefined, Line>): Map<Line, Row> {
  const folded = new Map<Line, Row>();
  const byEntry = new Map(all.flatMap((g) => g.rows).map((row) => [key(row), row]));
  for (const row of fold(all).flatMap((g) => g.rows)) {
    const line = listed.get(byEntry.get(key(row)));
    if (line) folded.set(line, row);
  }
  return folded;
}

/** What tells a row from all others, folded or not. */
function key(row: Row): string {
  return `${row.time.getTime()} ${row.full} ${row.snapshot}`;
}

const STEPS: Readonly<Record<Step, { row: string; past: string; title: string; go: string; done: string }>> = {
  undo: { row: "↩ undo the last file rewind", past: "rewind", title: "Undo the last file rewind", go: "Undo", done: "Files restored to before last rewind" },
  redo: { row: "↪ redo what was undone", past: "undo", title: "Redo what was undone", go: "Redo", done: "Files restored to after the undone rewind" },
};

function items({ lines, folded }: Content, at: Line | undefined): Items {
  const all = lines.map((line, i) => item(line, i, undefined));
  const some = lines.flatMap((line, i) => (line.kind === "point" && !folded.has(line) ? [] : [item(line, i, folded.get(line))]));
  const same = at && lines.findIndex((line) => (line.kind === "point" && at.kind === "point" ? key(line.row) === key(at.row) : line.kind === at.kind));
  const newest = lines.findIndex((line) => line.kind === "point");
  const shown = lines.findIndex((line) => line.kind === "point" && folded.has(line));
  return { all, folded: some, first: Math.max(0, same !== undefined && same >= 0 ? same : shown >= 0 ? shown : newest) };
}

function item(line: Line, index: number, folded: Row | undefined): Item {
  if (line.kind !== "point") return { line: index, group: "", time: "", label: STEPS[line.kind].row, aside: false };
  const more = folded && folded.folded > 0 ? ` (+${folded.folded} unchanged)` : "";
  return { line: index, group: line.group, time: clock(line.row.time), label: mark(line) + line.row.label + more, aside: line.row.aside };
}

/** Names the branch of git on which a point was recorded, where that is not the present one. */
function mark(line: Line): string {
  return line.kind === "point" && line.branch !== undefined ? `[${branchName(line.branch)}] ` : "";
}

/** What a point changed against the one before. */
async function stat(session: Session, line: Line | undefined): Promise<string> {
  if (line?.kind !== "point") return "";
  const { before, snapshot } = line.row;
  if (!before || before === snapshot) return "";
  const { changes } = await session.server.request<{ changes: Change[] }>("diff", { from: before, to: snapshot, format: "stat" });
  return countedLines(changes);
}

async function preview(session: Session, line: Line | undefined, signal: AbortSignal): Promise<Preview> {
  if (!line) return { summary: "", lines: [] };
  const want = { patch: true, maxBytes: PATCH_BYTES_MAX };
  if (line.kind === "point") return previewOf(await planOf(session, line.row.snapshot, want, signal), "Restore");
  return previewOf(await stepPlan(session, line.kind, want, signal), line.kind === "undo" ? "Undo" : "Redo");
}

/** The files of a plan with their counts, what would stay, and the lines that would change. */
function previewOf(plan: Plan, what: string): Preview {
  const changed = files(plan.changes ?? []);
  const stays = [...(plan.kept ?? []), ...(plan.conflicts ?? [])];
  if (!plan.changes?.length && stays.length === 0) return { summary: "The files are as at this point", lines: [] };
  const sums = changed.length > 0 ? `, ${countedLines(changed).replace(/^\d+ files? /, "")}` : "";
  const lines = changed.map((c) => `  ${verb(c)} ${oneLine(c.path)}${c.binary ? "  binary" : `  +${c.added ?? 0} −${c.removed ?? 0}`}`);
  lines.push(...stays.map((n) => `  stays: ${oneLine(n.path)} (${n.reason})`));
  const patch = (plan.patch ?? "").split("\n").filter((l) => l !== "" && !l.startsWith("index "));
  if (patch.length > 0) lines.push("", ...patch.map((l) => l.replace(/\t/g, "    ").replace(/[\u0000-\u001f\u007f-\u009f]/g, "·")));
  if (plan.truncated) lines.push("… (more than is shown here)");
  return { summary: `${what}: ${counts(plan)}${sums}`, lines };
}

/** Carries out what the user wants of a line; false: back to the list. */
async function act(session: Session, ctx: ExtensionCommandContext, line: Line): Promise<boolean> {
  if (line.kind !== "point") return step(session, ctx, line.kind);
  const { entry } = line.row;
  const plan = await planOf(session, line.row.snapshot);
  const changes = (plan.changes?.length ?? 0) + (plan.conflicts?.length ?? 0) > 0;
  const filesOnly = `Restore files only: ${counts(plan)}`;
  const both = `Restore files and conversation: ${counts(plan)}`;
  const options = [entry && CONVERSATION, changes && CHOOSE, changes && filesOnly, entry && changes && both, entry && SUMMARISE, BACK].filter((o) => typeof o === "string");
  const about = changes ? "" : "\nThe files are as at this point";
  const choice = await ctx.ui.select(`Rewind to ${oneLine(line.row.full)}${about}`, options);
  if (choice === filesOnly) return restoreFiles(session, ctx, plan);
  if (choice === CHOOSE) return chosenFiles(session, ctx, plan);
  if (!entry || choice === undefined || choice === BACK) return false;
  const leaf = ctx.sessionManager.getLeafId() ?? undefined;
  if (choice === both) {
    const done = await putBack(session, ctx, plan);
    if (!done) return false;
    await navigate(session, ctx, entry, { ...done, leaf }, { done: "Files and conversation restored to rewind point" });
    return true;
  }
  const current = await session.snapshot("tree");
  await navigate(session, ctx, entry, current ? { current, undo: undefined, left: 0 } : undefined, { summarize: choice === SUMMARISE, done: "Conversation restored to rewind point" });
  return true;
}

/** Undoes or redoes, files or, where both were moved, files and conversation; false: back to the list. */
async function step(session: Session, ctx: ExtensionCommandContext, kind: Step): Promise<boolean> {
  const words = STEPS[kind];
  const plan = await stepPlan(session, kind);
  const ways = session.waysBack;
  const foreign = ways.has(plan.id) ? "" : `\nThe ${words.past} was not made in this session: another session made it, or somebody at the shell.`;
  const back = ways.get(plan.id);
  const there = back !== undefined && session.has(back) ? back : undefined;
  const filesOnly = `${words.go} files${there ? " only" : ""}: ${counts(plan)}`;
  const both = `${words.go} files and conversation: ${counts(plan)}`;
  const choice = await ctx.ui.select(`${words.title}?\n${effect(plan)}${foreign}`, [LEAVE, filesOnly, ...(there ? [both] : [])]);
  if (choice !== filesOnly && choice !== both) return false;
  const leaf = ctx.sessionManager.getLeafId() ?? undefined;
  const done = await takeStep(session, ctx, kind, plan);
  if (!done) return false;
  if (choice === both && there) await navigate(session, ctx, there, { ...done, leaf }, { done: `${words.done}, and the conversation` });
  else {
    session.record(done);
    tellDone(session, done, words.done);
  }
  return true;
}

async function restoreFiles(session: Session, ctx: ExtensionCommandContext, plan: Plan, paths?: string[]): Promise<boolean> {
  const done = await putBack(session, ctx, plan, paths);
  if (!done) return false;
  session.record(done);
  tellDone(session, done, paths ? `Restored ${some(paths.map((p) => p.replace(/^:\(literal\)/, "")))}` : "Files restored to rewind point");
  return true;
}

async function chosenFiles(session: Session, ctx: ExtensionCommandContext, plan: Plan): Promise<boolean> {
  const look = async (path: string, signal: AbortSignal) =>
    previewOf(await planOf(session, plan.id, { paths: [`:(literal)${path}`], patch: true, maxBytes: PATCH_BYTES_MAX }, signal), "Restore");
  const paths = await chooseFiles(ctx, { changes: plan.changes ?? [], preview: look }, terminal(ctx));
  return paths === undefined ? false : restoreFiles(session, ctx, plan, paths);
}

/** Moves the conversation. The tree's dialog is left out: the user has said what he wants. */
async function navigate(session: Session, ctx: ExtensionCommandContext, entry: string, state: (PutBack & { leaf?: string | undefined }) | undefined, how: { summarize?: boolean; done: string }): Promise<void> {
  session.activity.moves(state, true);
  try {
    const result = await ctx.navigateTree(entry, { summarize: how.summarize ?? false });
    if (result.cancelled) session.say("Rewind: the conversation stays where it is", "warning");
    else tellDone(session, state ?? { current: "", undo: undefined, left: 0 }, how.done);
  } finally {
    session.activity.settle();
  }
}
