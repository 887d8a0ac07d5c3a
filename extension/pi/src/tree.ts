// What is asked and done before and after navigating in the session tree.

import type { ExtensionContext, SessionBeforeTreeEvent, SessionBeforeTreeResult, SessionTreeEvent } from "@earendil-works/pi-coding-agent";
import { idle, orWarn } from "./fork.ts";
import { putBack, undoTo } from "./restore.ts";
import { reason, type Session } from "./session.ts";

const KEEP = "Keep current files";
const RESTORE = "Restore files to that point";
const UNDO = "Undo last file rewind";
const CANCEL = "Cancel navigation";

type Answer = Promise<SessionBeforeTreeResult | undefined>;

/** Handles session_before_tree. */
export async function beforeTree(session: Session, event: SessionBeforeTreeEvent, ctx: ExtensionContext): Answer {
  if (session.server.off || session.asked) return undefined;
  if (!(await idle(session, ctx))) {
    session.say("Rewind: the agent is still at work; stop it, then navigate", "warning");
    return { cancel: true };
  }
  await session.points.settle();
  session.settleNavigation();
  if (!ctx.hasUI || collapsing()) return keep(session);
  try {
    return await ask(session, event, ctx);
  } catch (error) {
    session.navigated = undefined;
    session.say(`Rewind failed before tree navigation: ${reason(error)}`, "error");
    return { cancel: true };
  }
}

/** Handles session_tree: the navigation is through. */
export async function afterTree(session: Session, event: SessionTreeEvent): Promise<void> {
  const state = session.navigated;
  session.navigated = undefined;
  session.points.reload();
  const summary = event.summaryEntry?.id;
  if (!state && !summary) return;
  const current = state?.current ?? (await session.snapshot("tree"));
  if (current) session.record({ current, undo: state?.undo }, summary ? [summary] : []);
}

async function ask(session: Session, event: SessionBeforeTreeEvent, ctx: ExtensionContext): Answer {
  const target = await orWarn(session, () => session.resolve(event.preparation.targetId));
  const undo = await orWarn(session, () => session.undoable());
  const options = [KEEP, ...(target ? [RESTORE] : []), ...(undo ? [UNDO] : []), CANCEL];
  const choice = await ctx.ui.select("Restore Options", options);
  if (choice === KEEP) return keep(session);
  if (choice === UNDO && undo) {
    const undone = await undoTo(session, ctx, undo);
    if (undone) session.record(undone);
    session.info(undone ? "Files restored to before last rewind" : "Navigation cancelled");
    return { cancel: true };
  }
  const done = choice === RESTORE && target ? await putBack(session, ctx, target) : undefined;
  if (!done) {
    session.info("Navigation cancelled");
    return { cancel: true };
  }
  session.navigated = { current: done.current, undo: done.undo };
  session.info("Files restored to rewind point");
  return undefined;
}

/** Navigates without touching files. That they are recorded is a service: without it the navigation goes on. */
async function keep(session: Session): Answer {
  const current = await session.snapshot("tree");
  session.navigated = current ? { current } : undefined;
  return undefined;
}

/** Set by pi-boomerang while it folds a branch: files stay, and nobody is asked. */
function collapsing(): boolean {
  return (globalThis as { __boomerangCollapseInProgress?: unknown }).__boomerangCollapseInProgress === true;
}
