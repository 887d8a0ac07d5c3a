// Putting files back: the plan is shown, deletions first, and what was shown is
// done, or nothing.

import { openChanges } from "./diffs.ts";
import * as vscode from "./editor.ts";
import { say } from "./messages.ts";
import { counted, iconless, oneLine } from "./moments.ts";
import type { Span } from "./nodes.ts";
import { type Group, type Row, rowsOf, effectOf, split, type Split } from "./plan.ts";
import { literal } from "./place.ts";
import { type Change, filesOf, type Plan, type Restored } from "./records.ts";
import { OTHER_PLAN, type RewindError } from "./server.ts";
import { unsavedIn } from "./unsaved.ts";
import type { Worktree } from "./worktree.ts";
import type { Worktrees } from "./worktrees.ts";

/** Something that changes files. */
export interface Deed {
  worktree: Worktree;
  /** `Restore to before “fix it”`. */
  title: string;
  plan: "plan" | "planRevert" | "planUndo" | "planRedo";
  act: "restore" | "revert" | "undo" | "redo";
  params: Record<string, unknown>;
  /** Only these paths; none: all of the folder. Of an undo or redo: what it is of. */
  paths?: string[];
}

interface Shown {
  plan: Plan;
  params: Record<string, unknown>;
  split: Split;
}

type Choice = "do" | "no" | "again";

/** Plans, shows, and does it when the user says so. Throws what the server says. */
export async function carry(worktrees: Worktrees, deed: Deed): Promise<Restored | undefined> {
  let anew = false;
  for (;;) {
    const shown = await look(worktrees, deed);
    const files = filesOf(shown.plan.changes);
    if (files.length === 0 && !shown.plan.changes?.length) {
      tellNothing(deed, shown);
      return undefined;
    }
    if (deed.act === "undo" || deed.act === "redo") {
      if (!(await mayStep(deed, shown))) return undefined;
      if (shown.split.unsaved.length > 0) continue; // saved now, so that the plan is another
    }
    const choice = await show(deed, shown, anew);
    if (choice === "no") return undefined;
    anew = true;
    if (choice === "again" || !same(shown.split.unsaved, await blocked(worktrees, deed, shown))) continue;
    try {
      const done = await progress(deed.title, () => deed.worktree.server.request<Restored>(deed.act, { ...shown.params, plan: shown.plan.plan }));
      void tell(deed, shown, done);
      return done;
    } catch (error) {
      if ((error as RewindError).code !== OTHER_PLAN) throw error;
    } finally { // also of what ended half way
      deed.worktree.refresh();
      void deed.worktree.look();
    }
  }
}

/** Makes the plan, without what may not be touched. */
async function look(worktrees: Worktrees, deed: Deed): Promise<Shown> {
  const { worktree } = deed;
  const steps = deed.act === "undo" || deed.act === "redo";
  const paths = deed.paths ?? (worktree.prefix ? [literal(worktree.prefix)] : []);
  const params = steps || paths.length === 0 ? deed.params : { ...deed.params, paths };
  const plan = await planned(deed, params);
  const parts = split(plan, unsavedIn(worktree), steps ? [] : worktrees.within(worktree));
  if (steps) return { plan, params: { ...params, id: plan.id }, split: parts };
  if (!parts.paths) return { plan, params, split: parts };
  if (parts.paths.length === 0) return { plan: { ...plan, changes: [] }, params, split: parts };
  const rest = { ...deed.params, paths: parts.paths };
  return { plan: await planned(deed, rest), params: rest, split: parts };
}

async function planned(deed: Deed, params: object): Promise<Plan> {
  return progress(`${deed.title}: looking at the files`, () => deed.worktree.server.request<Plan>(deed.plan, params));
}

/** The files with unsaved text that it would touch now. */
async function blocked(worktrees: Worktrees, deed: Deed, shown: Shown): Promise<string[]> {
  const now = unsavedIn(deed.worktree);
  const fresh = split(shown.plan, now, worktrees.within(deed.worktree)).unsaved;
  return [...new Set([...shown.split.unsaved.filter((u) => now.includes(u)), ...fresh])].sort();
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i]);
}

/** An undo or redo is done as a whole or not at all: unsaved text in its way is for the user to save. */
async function mayStep(deed: Deed, shown: Shown): Promise<boolean> {
  const { unsaved } = shown.split;
  if (unsaved.length === 0) return true;
  const save = "Save Them and Look Again";
  const choice = await say.warn(`${deed.title}: ${some(unsaved)} ${unsaved.length === 1 ? "has" : "have"} unsaved text, which is not overwritten.`, save);
  if (choice !== save) return false;
  for (const name of unsaved) {
    const document = vscode.workspace.textDocuments.find((d) => d.isDirty && deed.worktree.pathOf(d.uri) === name);
    if (!document || !(await document.save())) return false;
  }
  return true;
}

interface Item extends vscode.QuickPickItem {
  row?: Row;
  choice?: Choice | "open";
}

/** The list of all that will change. Nothing is done unless its first row is chosen. */
function show(deed: Deed, shown: Shown, anew: boolean): Promise<Choice> {
  const { plan, split: parts } = shown;
  const span: Span = { from: undefined, to: plan.id, fromTitle: "now", toTitle: "then" };
  const files = filesOf(plan.changes);
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = `${deed.title}: ${effectOf(plan)}`;
  pick.placeholder = [anew ? "Something has changed since: this is what would be done now." : "", ...warnings(deed, shown), "Escape leaves everything as it is."].filter(Boolean).join(" ");
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  const first: Item[] = [{ label: `$(check) ${verbOf(deed)} ${counted(files.length, "file")}`, description: effectOf(plan), choice: "do", alwaysShow: true }];
  if (deed.act === "restore") first.push({ label: "$(diff-multiple) Show all differences", description: "without changing anything", choice: "open", alwaysShow: true });
  pick.items = [...first, ...items(rowsOf(plan, parts.unsaved))];
  return new Promise((resolve) => {
    const end = (choice: Choice) => {
      resolve(choice);
      pick.dispose();
    };
    pick.onDidAccept(() => {
      const [item] = pick.selectedItems;
      if (item?.choice === "open") void openChanges(deed.worktree, backwards(span), deed.title, turned(files));
      else if (item?.choice) end(item.choice);
      else if (item?.row?.change && deed.act === "restore") void openRow(deed, plan, item.row.change);
    });
    pick.onDidHide(() => end("no"));
    pick.show();
  });
}

/** A plan leads from the present to a snapshot; its difference is shown as the editor shows a change on disk. */
function backwards(span: Span): Span {
  return { from: span.to, to: undefined, fromTitle: span.toTitle, toTitle: span.fromTitle };
}

const TURNED: Readonly<Record<Change["status"], Change["status"]>> = { A: "D", D: "A", M: "M", T: "T" };

function turned(changes: readonly Change[]): Change[] {
  return changes.map(({ from: _from, ...c }) => ({ ...c, status: TURNED[c.status] }));
}

async function openRow(deed: Deed, plan: Plan, change: Change): Promise<void> {
  const { worktree } = deed;
  const then = change.status === "D" ? worktree.snapshotUri(change, "nothing") : worktree.snapshotUri(change, plan.id);
  const now = change.status === "A" ? worktree.snapshotUri(change, "nothing") : worktree.fileUri(change.path);
  await vscode.commands.executeCommand("vscode.diff", then, now, `${oneLine(change.path)} (then ↔ now)`, { preview: true, preserveFocus: true });
}

function items(rows: readonly Row[]): Item[] {
  const out: Item[] = [];
  let group: Group | undefined;
  for (const row of rows) {
    if (row.group !== group) out.push({ label: `${row.group} (${rows.filter((r) => r.group === row.group).length})`, kind: vscode.QuickPickItemKind.Separator });
    group = row.group;
    out.push({ label: `$(${ICONS[row.group]}) ${iconless(oneLine(row.path))}`, description: iconless(row.about), row });
  }
  return out;
}

const ICONS: Readonly<Record<Group, string>> = {
  "Deleted": "trash", "Unsaved text: left alone": "circle-filled", "Cannot be restored: left alone": "warning", "Written": "edit", "Stays beside it": "dash",
};

function verbOf(deed: Deed): string {
  return { restore: "Restore", revert: "Take back", undo: "Undo:", redo: "Redo:" }[deed.act];
}

/** What has to be known before a yes, beside the list. */
function warnings(deed: Deed, shown: Shown): string[] {
  const { plan, split: parts } = shown;
  const out: string[] = [];
  if (plan.branch && plan.branch !== plan.here) out.push(`Recorded on ${branch(plan.branch)}, and you are on ${plan.here ? branch(plan.here) : "no branch"}.`);
  if (plan.unfinished) out.push("A restore that was interrupted is finished first.");
  if (parts.elsewhere > 0) out.push(`${counted(parts.elsewhere, "change")} in other folders of the workspace ${parts.elsewhere === 1 ? "is" : "are"} left out.`);
  if (parts.unnamed > 0) out.push(`${counted(parts.unnamed, "file")} whose name is not UTF-8 ${parts.unnamed === 1 ? "is" : "are"} left out.`);
  const outside = deed.worktree.prefix ? filesOf(plan.changes).filter((c) => deed.worktree.prefix && !c.path.startsWith(`${deed.worktree.prefix}/`)).length : 0;
  if (outside > 0) out.push(`${counted(outside, "file")} outside of the folder that is open.`);
  return out;
}

function branch(ref: string): string {
  return oneLine(ref.replace(/^refs\/heads\//, ""));
}

export function some(names: readonly string[], most = 3): string {
  const shown = names.slice(0, most).map((n) => oneLine(n)).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

function tellNothing(deed: Deed, { plan, split: parts }: Shown): void {
  const why: string[] = [];
  if (parts.unsaved.length > 0) why.push(`${some(parts.unsaved)}: unsaved text is not overwritten`);
  if (parts.elsewhere > 0) why.push(`${counted(parts.elsewhere, "change")} in other folders of the workspace left out`);
  if (plan.conflicts.length > 0) why.push(`${some(plan.conflicts.map((n) => `${n.path} (${n.reason})`))} cannot be restored`);
  if (plan.kept.length > 0) why.push(`${some(plan.kept.map((n) => `${n.path} (${n.reason})`))} stays`);
  if (why.length === 0) void say.info(`${deed.title}: nothing to change, the files are like that.`);
  else void say.warn(`${deed.title}: nothing was changed. ${why.join("; ")}.`);
}

/** Says what was done and, by name, what was not. */
async function tell(deed: Deed, { split: parts }: Shown, done: Restored): Promise<void> {
  const did = [done.deleted > 0 ? `${done.deleted} deleted` : "", done.written > 0 ? `${done.written} written` : ""].filter(Boolean).join(", ") || "nothing changed";
  const left: string[] = [];
  if (done.conflicts.length > 0) left.push(`Not restored: ${some(done.conflicts.map((n) => `${n.path} (${n.reason})`))}.`);
  if (parts.unsaved.length > 0) left.push(`Left alone, as ${parts.unsaved.length === 1 ? "it has" : "they have"} unsaved text: ${some(parts.unsaved)}.`);
  const back = deed.act === "undo" ? "Redo" : "Undo";
  const text = `${deed.title}: ${did}. ${left.join(" ")}`.trim();
  const buttons = done.undo ? [back] : [];
  const choice = left.length > 0 ? await say.warn(text, ...buttons) : await say.info(text, ...buttons);
  if (choice === back) await vscode.commands.executeCommand(back === "Undo" ? "rewind.undo" : "rewind.redo", { kind: "folder", worktree: deed.worktree });
}

function progress<T>(title: string, task: () => Promise<T>): Promise<T> {
  return Promise.resolve(vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, task));
}
