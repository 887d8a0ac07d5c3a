// Putting files back, in the way that all flows share: ask before crossing
// branches, restore, report.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Restored } from "./protocol.ts";
import type { Session } from "./session.ts";

/** What a restore made of the files. */
export interface PutBack {
  current: string;
  undo: string | undefined;
}

/** Restores a snapshot, or only some paths of it. Throws if that fails: then nothing or something that undo takes back was changed. */
export async function putBack(session: Session, ctx: ExtensionContext, id: string, paths: string[] = []): Promise<PutBack | undefined> {
  if (!(await mayCross(ctx, await session.server.request<Restored>("plan", { id })))) return undefined;
  const restored = await session.server.request<Restored>("restore", { id, paths });
  session.report(restored);
  const current = paths.length > 0 ? ((await session.snapshot("restore")) ?? id) : id;
  return { current, undo: restored.undo };
}

/**
 * Goes back to what was there before the last restore; undefined: the user
 * said no. The engine's own undo or redo is used where it leads there, so that
 * more levels can follow.
 */
export async function undoTo(session: Session, ctx: ExtensionContext, id: string): Promise<PutBack | undefined> {
  for (const method of ["undo", "redo"] as const) {
    const plan = await historyPlan(session, method);
    if (plan?.id === id) return historyStep(session, ctx, method, plan);
  }
  return putBack(session, ctx, id);
}

/** One step in the worktree's own history, of which the plan is given; undefined: the user said no. Throws if there is none. */
export async function historyStep(session: Session, ctx: ExtensionContext, method: "undo" | "redo", plan: Restored): Promise<PutBack | undefined> {
  if (!(await mayCross(ctx, plan))) return undefined;
  const restored = await session.server.request<Restored>(method);
  session.report(restored);
  return { current: restored.id, undo: restored.undo };
}

/** What an undo or redo would do now; undefined if there is nothing to take back. */
export async function historyPlan(session: Session, method: "undo" | "redo"): Promise<Restored | undefined> {
  try {
    return await session.server.request<Restored>(method === "undo" ? "planUndo" : "planRedo");
  } catch {
    return undefined;
  }
}

/** Asks before the files of another branch are put onto the present one, or onto a HEAD that is on none. */
async function mayCross(ctx: ExtensionContext, plan: Restored): Promise<boolean> {
  if (!plan.branch || plan.branch === plan.here || !ctx.hasUI) return true;
  const name = (ref: string) => ref.replace(/^refs\/heads\//, "");
  const here = plan.here ? name(plan.here) : "no branch (detached HEAD)";
  return ctx.ui.confirm("Restore across branches?", `This point was recorded on branch ${name(plan.branch)}; you are on ${here}. Its files would be put there.`);
}
