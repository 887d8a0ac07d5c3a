// Putting files back, in the way that all dialogs share: ask before crossing
// branches, restore, and tell what could not be restored.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Change, Plan, Restored } from "./protocol.ts";
import { type Session, some } from "./session.ts";

export type Step = "undo" | "redo";

/** What a restore made of the files. */
export interface PutBack {
  current: string;
  undo: string | undefined;
  /** How many paths could not be restored. The user knows. */
  left: number;
}

export const LEAVE = "Leave everything as it is";
const GO_ON = "Go on";
const TAKE_BACK = "Take the restore back";

/** What a restore of a snapshot would do now. */
export function planOf(session: Session, id: string, more: { paths?: string[]; patch?: boolean; maxBytes?: number } = {}, signal?: AbortSignal): Promise<Plan> {
  return session.server.request<Plan>("plan", { id, ...more }, { signal });
}

/** What an undo or redo would do now. Throws if there is nothing to take back. */
export function stepPlan(session: Session, step: Step, more: { patch?: boolean; maxBytes?: number } = {}, signal?: AbortSignal): Promise<Plan> {
  return session.server.request<Plan>(step === "undo" ? "planUndo" : "planRedo", more, { signal });
}

/**
 * Restores what a plan names, or only some paths of it; undefined: the user did
 * not want it, and nothing is changed. Throws if that fails: then nothing or
 * something that undo takes back was changed.
 */
export async function putBack(session: Session, ctx: ExtensionContext, plan: Plan, paths: string[] = []): Promise<PutBack | undefined> {
  if (!(await mayCross(ctx, plan))) return undefined;
  const restored = await session.server.request<Restored>("restore", { id: plan.id, paths });
  if (!(await accepted(session, ctx, restored))) return undefined;
  const current = paths.length > 0 ? ((await session.snapshot("restore")) ?? plan.id) : plan.id;
  return { current, undo: restored.undo, left: restored.conflicts.length };
}

/** Takes a step in the worktree's own history, of which the user has agreed to the plan; undefined: he said no after all. */
export async function takeStep(session: Session, ctx: ExtensionContext, step: Step, plan: Plan): Promise<PutBack | undefined> {
  if (!(await mayCross(ctx, plan))) return undefined;
  const restored = await session.server.request<Restored>(step, { id: plan.id }); // what was agreed to, and nothing else
  if (!(await accepted(session, ctx, restored))) return undefined;
  return { current: restored.id, undo: restored.undo, left: restored.conflicts.length };
}

/**
 * Goes back to what was there before the last restore, after a question;
 * undefined: the user said no. A step of the program's own history is taken
 * where one leads there, so that more can follow.
 */
export async function undoTo(session: Session, ctx: ExtensionContext, id: string): Promise<PutBack | undefined> {
  const found = await stepTo(session, id);
  const plan = found?.plan ?? (await planOf(session, id));
  const undo = "Undo it";
  const choice = await ctx.ui.select(`Undo the last file rewind?\n${effect(plan)}`, [LEAVE, undo]);
  if (choice !== undo) return undefined;
  return found ? takeStep(session, ctx, found.step, plan) : putBack(session, ctx, plan);
}

/** Says that a restore went well, or that it did not. */
export function tellDone(session: Session, done: PutBack, text: string): void {
  if (done.left === 0) session.info(text);
  else session.say(`Rewind: restored in part, ${counted(done.left, "path")} not`, "warning");
}

/** Says in a line what a plan would do to files: `2 files written, 1 deleted: a, b, c`. */
export function effect(plan: Plan): string {
  const names = files(plan.changes ?? []).map((c) => c.path);
  return names.length > 0 ? `${counts(plan)}: ${some(names)}` : counts(plan);
}

/** Counts what a plan would do: `2 files written, 1 deleted`. */
export function counts(plan: Plan): string {
  const changes = files(plan.changes ?? []);
  const deleted = changes.filter((c) => c.status === "D").length;
  const parts: string[] = [];
  if (changes.length > deleted) parts.push(`${counted(changes.length - deleted, "file")} written`);
  if (deleted > 0) parts.push(`${parts.length > 0 ? deleted : counted(deleted, "file")} deleted`);
  const left = plan.conflicts?.length ?? 0;
  if (left > 0) parts.push(`${left} cannot be restored`);
  if (parts.length === 0) return plan.changes?.length ? "only folders change" : "no file changes";
  return parts.join(", ");
}

/** The changes of files; directories come and go with theirs. */
export function files(changes: readonly Change[]): Change[] {
  return changes.filter((c) => !isDirectory(c.new_mode ?? c.old_mode));
}

export function isDirectory(mode: string | undefined): boolean {
  return mode?.startsWith("04") ?? false;
}

export function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

/** The step of the program's own history that leads to a snapshot, if one does. */
async function stepTo(session: Session, id: string): Promise<{ step: Step; plan: Plan } | undefined> {
  for (const step of ["undo", "redo"] as const) {
    const plan = await stepPlan(session, step).catch(() => undefined); // most often there is none
    if (plan?.id === id) return { step, plan };
  }
  return undefined;
}

/**
 * Tells what a restore could not do, and waits until that is read. False: the
 * user wants the restore taken back, and it is.
 */
async function accepted(session: Session, ctx: ExtensionContext, restored: Restored): Promise<boolean> {
  session.worked();
  const { conflicts, undo } = restored;
  if (conflicts.length === 0) return true;
  const names = conflicts.map((c) => `${c.path} (${c.reason})`);
  session.footer(`not restored: ${some(names)}`);
  if (!ctx.hasUI) {
    session.say(`Rewind: not restored, what is there stays: ${some(names)}`, "warning");
    return true;
  }
  const changed = restored.written + restored.deleted > 0 && undo !== undefined;
  const text = `Restored in part. ${counted(names.length, "path")} could not be restored, what is there stays:\n${some(names, 8, "\n")}`;
  if ((await ctx.ui.select(text, changed ? [GO_ON, TAKE_BACK] : [GO_ON])) !== TAKE_BACK || !undo) return true;
  const back = await stepTo(session, undo);
  const again = await session.server.request<Restored>(back?.step ?? "restore", back ? { id: undo } : { id: undo, paths: [] });
  session.worked();
  if (again.conflicts.length > 0) session.tell(`Rewind: taken back in part, not ${some(again.conflicts.map((c) => `${c.path} (${c.reason})`))}`);
  return false;
}

/** Asks before the files of another branch are put onto the present one, or onto a HEAD that is on none. */
async function mayCross(ctx: ExtensionContext, plan: Plan): Promise<boolean> {
  if (!plan.branch || plan.branch === plan.here || !ctx.hasUI) return true;
  const here = plan.here ? branchName(plan.here) : "no branch (detached HEAD)";
  return ctx.ui.confirm("Restore across branches?", `This point was recorded on branch ${branchName(plan.branch)}; you are on ${here}. Its files would be put there.`);
}

export function branchName(ref: string): string {
  return ref.replace(/^refs\/heads\//, "");
}
