// What is asked and done before a fork.

import type { ExtensionContext, SessionBeforeForkEvent, SessionBeforeForkResult } from "@earendil-works/pi-coding-agent";
import { putBack, undoTo } from "./restore.ts";
import { reason, type Session } from "./session.ts";

const KEEP = "Conversation only (keep current files)";
const ALL = "Restore all (files + conversation)";
const CODE = "Code only (restore files, keep conversation)";
const UNDO = "Undo last file rewind";

const IDLE_WAIT_MS = 10_000;

type Answer = Promise<SessionBeforeForkResult | undefined>;

/** Handles session_before_fork. preference: who asked to fork without a dialog, if anybody. */
export async function beforeFork(session: Session, event: SessionBeforeForkEvent, ctx: ExtensionContext, preference: string | undefined): Answer {
  if (session.server.off) return undefined;
  if (!(await idle(session, ctx))) {
    session.say("Rewind: the agent is still at work; stop it, then fork", "warning");
    return { cancel: true };
  }
  await session.points.settle();
  session.settleNavigation();
  if (!ctx.hasUI) return keep(session);
  if (preference !== undefined) {
    session.info(`Rewind: using conversation-only fork (keep current files) (${preference})`);
    return keep(session);
  }
  try {
    return await ask(session, event, ctx);
  } catch (error) {
    session.say(`Rewind failed before fork: ${reason(error)}`, "error");
    return { cancel: true };
  }
}

async function ask(session: Session, event: SessionBeforeForkEvent, ctx: ExtensionContext): Answer {
  const target = await orWarn(session, () => session.resolve(event.entryId));
  const undo = await orWarn(session, () => session.undoable());
  const options = [KEEP, ...(target ? [ALL, CODE] : []), ...(undo ? [UNDO] : [])];
  const choice = await ctx.ui.select("Restore Options", options);
  if (choice === KEEP) return keep(session);
  if (choice === UNDO && undo) {
    const undone = await undoTo(session, ctx, undo);
    if (!undone) return cancelled(session);
    session.handOver(undone.current, undone.undo);
    session.info("Files restored to before last rewind");
    return undefined;
  }
  const done = target && (choice === ALL || choice === CODE) ? await putBack(session, ctx, target) : undefined;
  if (!done) return cancelled(session);
  session.info("Files restored to rewind point");
  if (choice === CODE) {
    // Pi cannot fork and keep the conversation: not forking keeps it.
    session.record(done);
    return { cancel: true };
  }
  session.handOver(done.current, done.undo);
  return undefined;
}

function cancelled(session: Session): SessionBeforeForkResult {
  session.info("Rewind cancelled");
  return { cancel: true };
}

/** Forks the conversation alone. That the files are recorded is a service: without it the fork goes on. */
async function keep(session: Session): Answer {
  const current = await session.snapshot("fork");
  if (current) session.handOver(current, undefined);
  return undefined;
}

/** Asks the engine for what an option needs; without an answer the option is left out. */
export async function orWarn<T>(session: Session, ask: () => Promise<T | undefined>): Promise<T | undefined> {
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
export async function idle(session: Session, ctx: ExtensionContext): Promise<boolean> {
  // Pi calls itself busy also while it navigates: a run must be seen by both.
  const busy = () => session.running && !ctx.isIdle();
  if (!busy()) return true;
  ctx.abort();
  for (const end = Date.now() + IDLE_WAIT_MS; busy() && Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return !busy();
}
