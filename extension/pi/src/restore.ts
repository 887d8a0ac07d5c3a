// Putting files back, in the way that all flows share: ask before crossing
// branches, restore, report.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Restored } from "./protocol.ts";
import type { Session } from "./session.ts";

/** What a restore made of the files; undefined in its place: the user said no. */
export interface PutBack {
  current: string;
  undo: string | undefined;
  restored: Restored;
}

/** Restores a snapshot, or only some paths of it. Throws if that fails: then nothing or something that undo takes back was changed. */
export async function putBack(session: Session, ctx: ExtensionContext, id: string, paths: string[] = []): Promise<PutBack | undefined> {
  if (!(await mayCross(session, ctx, id))) return undefined;
  const restored = await session.server.request<Restored>("restore", { id, paths });
  session.report(restored);
  const current = paths.length > 0 ? ((await session.snapshot("restore")) ?? id) : id;
  return { current, undo: restored.undo, restored };
}

/**
 * Goes back to what was there before the last restore. The engine's own undo
 * or redo is used where it leads there, so that more levels can follow.
 */
export async function undoTo(session: Session, id: string): Promise<PutBack> {
  const restored = (await step(session, "undo", id)) ?? (await step(session, "redo", id)) ?? (await session.server.request<Restored>("restore", { id }));
  session.report(restored);
  return { current: id, undo: restored.undo, restored };
}

/** One step in the worktree's own history. Throws if there is none. */
export async function historyStep(session: Session, method: "undo" | "redo"): Promise<PutBack> {
  const restored = await session.server.request<Restored>(method);
  session.report(restored);
  return { current: restored.id, undo: restored.undo, restored };
}

/** What an undo or redo would do now; undefined if there is nothing to take back. */
export async function historyPlan(session: Session, method: "undo" | "redo"): Promise<Restored | undefined> {
  try {
    return await session.server.request<Restored>(method === "undo" ? "planUndo" : "planRedo");
  } catch {
    return undefined;
  }
}

async function step(session: Session, method: "undo" | "redo", id: string): Promise<Restored | undefined> {
  const plan = await historyPlan(session, method);
  return plan?.id === id ? session.server.request<Restored>(method) : undefined;
}

async function mayCross(session: Session, ctx: ExtensionContext, id: string): Promise<boolean> {
  const plan = await session.server.request<Restored>("plan", { id });
  if (!plan.branch || !plan.here || plan.branch === plan.here || !ctx.hasUI) return true;
  const names = [plan.branch, plan.here].map((ref) => ref.replace(/^refs\/heads\//, ""));
  return ctx.ui.confirm("Restore across branches?", `This point was recorded on branch ${names[0]}; you are on ${names[1]}. Its files would be put onto the present branch.`);
}
