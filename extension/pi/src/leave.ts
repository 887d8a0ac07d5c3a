// Leaving a place in the conversation, by a fork or in the tree: what is asked
// about the files and done to them before Pi goes.

import type {
  ExtensionContext, SessionBeforeForkEvent, SessionBeforeForkResult, SessionBeforeTreeEvent, SessionBeforeTreeResult, SessionTreeEvent,
} from "@earendil-works/pi-coding-agent";
import type { FileState } from "./ledger.ts";
import { counts, planOf, putBack, tellDone, undoTo } from "./restore.ts";
import { reason, type Session } from "./session.ts";

const UNDO = "Undo last file rewind";
const CANCEL = "Cancel navigation";

const IDLE_WAIT_MS = 10_000;

/** How one way of leaving differs from the other. */
interface Way {
  /** The entry that it leads to, whose files can be restored. */
  entry: string;
  /** Why nobody is asked and the files stay, if that is so. */
  unasked: string | undefined;
  keep: string;
  /** Restore the files and go. */
  both: string;
  /** Restore the files and stay, where Pi's own choice of a place leaves room for that. */
  stay: string | undefined;
  cancel: string | undefined;
  /** The snapshot that is taken where files are kept is called after this. */
  trigger: string;
  cancelled: string;
  failed: string;
  busy: string;
  /** Whether one goes after an undo. */
  undoGoes: boolean;
  /** Passes on what the files are now: Pi is about to go. */
  go(files: FileState | undefined): void;
  /** The same, where rewind is off and nothing is known of the files. */
  off?(): void;
}

type Answer = { cancel: true } | undefined;

/** Handles session_before_fork. preference: who asked to fork without a dialog, if anybody. */
export function beforeFork(session: Session, event: SessionBeforeForkEvent, ctx: ExtensionContext, preference: string | undefined): Promise<SessionBeforeForkResult | undefined> {
  return leave(session, ctx, {
    entry: event.entryId,
    unasked: preference && `Rewind: using conversation-only fork (keep current files) (${preference})`,
    keep: "Conversation only (keep current files)",
    both: "Restore all (files + conversation)",
    stay: "Code only (restore files, keep conversation)", // Pi cannot fork and stay: not to fork is to stay
    cancel: undefined,
    trigger: "fork",
    cancelled: "Rewind cancelled",
    failed: "Rewind failed before fork",
    busy: "Rewind: the agent is still at work; stop it, then fork",
    undoGoes: true,
    go: (files) => session.handOver(files),
    off: () => session.handOver(undefined),
  });
}

/** Handles session_before_tree. */
export async function beforeTree(session: Session, event: SessionBeforeTreeEvent, ctx: ExtensionContext): Promise<SessionBeforeTreeResult | undefined> {
  if (session.activity.asked) return undefined;
  return leave(session, ctx, {
    entry: event.preparation.targetId,
    unasked: collapsing() ? "" : undefined,
    keep: "Keep current files",
    both: "Restore files to that point",
    stay: undefined,
    cancel: CANCEL,
    trigger: "tree",
    cancelled: "Navigation cancelled",
    failed: "Rewind failed before tree navigation",
    busy: "Rewind: the agent is still at work; stop it, then navigate",
    undoGoes: false,
    go: (files) => session.activity.moves(files && { ...files, leaf: event.preparation.oldLeafId ?? undefined }),
  });
}

/** Handles session_tree: the navigation is through. */
export async function afterTree(session: Session, event: SessionTreeEvent): Promise<void> {
  const state = session.activity.arrived();
  session.points.reload();
  const summary = event.summaryEntry?.id;
  if (!state && !summary) return;
  const current = state?.current ?? (await session.snapshot("tree"));
  if (current) session.record({ ...state, current }, summary ? [summary] : []);
}

async function leave(session: Session, ctx: ExtensionContext, way: Way): Promise<Answer> {
  if (!(await session.server.ready())) {
    way.off?.();
    return undefined;
  }
  if (!(await idle(session, ctx))) {
    session.say(way.busy, "warning");
    return { cancel: true };
  }
  await session.points.settle();
  session.activity.settle();
  if (!ctx.hasUI || way.unasked !== undefined) {
    if (ctx.hasUI && way.unasked) session.info(way.unasked);
    return keep(session, way); // and nobody is asked to read anything either
  }
  try {
    return await session.dialog(ctx, () => ask(session, ctx, way));
  } catch (error) {
    session.activity.arrived();
    session.say(`${way.failed}: ${reason(error)}`, "error");
    return { cancel: true };
  }
}

async function ask(session: Session, ctx: ExtensionContext, way: Way): Promise<Answer> {
  const plan = await orWarn(session, async () => {
    const id = await session.resolve(way.entry);
    return id === undefined ? undefined : planOf(session, id);
  });
  const undo = await orWarn(session, () => session.undoable());
  const restores = plan ? [way.both, way.stay] : [];
  const options = [way.keep, ...restores, undo && UNDO, way.cancel].filter((option) => option !== undefined);
  const choice = await ctx.ui.select(`Restore Options${plan ? `\nTo restore: ${counts(plan)}` : ""}`, options);
  if (choice === way.keep) return keep(session, way);
  const restoring = choice !== undefined && restores.includes(choice);
  const done = restoring && plan ? await putBack(session, ctx, plan) : choice === UNDO && undo ? await undoTo(session, ctx, undo) : undefined;
  if (!done) {
    session.info(way.cancelled);
    return { cancel: true };
  }
  tellDone(session, done, restoring ? "Files restored to rewind point" : "Files restored to before last rewind");
  if (choice === way.stay || (choice === UNDO && !way.undoGoes)) {
    session.record(done);
    return { cancel: true };
  }
  way.go(done);
  return undefined;
}

/** Goes without touching files. That they are recorded is a service: without it one goes all the same. */
async function keep(session: Session, way: Way): Promise<undefined> {
  const current = await session.snapshot(way.trigger);
  way.go(current ? { current } : undefined);
}

/** Asks the program for what an option needs; without an answer the option is left out. */
async function orWarn<T>(session: Session, ask: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    session.failed("points cannot be read", error);
    return undefined;
  }
}

/**
 * Stops a run that is under way: Pi would stop it only after the restore, or
 * not at all, and its tools would write into restored files.
 */
async function idle(session: Session, ctx: ExtensionContext): Promise<boolean> {
  // Pi calls itself busy also while it navigates: a run must be seen by both.
  const busy = () => session.activity.running && !ctx.isIdle();
  if (!busy()) return true;
  ctx.abort();
  for (const end = Date.now() + IDLE_WAIT_MS; busy() && Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return !busy();
}

/** Set by pi-boomerang while it folds a branch: files stay, and nobody is asked. */
function collapsing(): boolean {
  return (globalThis as { __boomerangCollapseInProgress?: unknown }).__boomerangCollapseInProgress === true;
}
