// /checkpoint NAME: a point with a name, that no retention drops.

import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { reason, type Session } from "./session.ts";

const BINDABLE = new Set(["user", "assistant"]);
const OTHER = "Keep it there, and take no checkpoint now";
const MOVE = "Give the name to the present state";

export async function checkpoint(session: Session, ctx: ExtensionCommandContext, args: string): Promise<void> {
  const name = args.trim();
  if (name === "") return session.say("Rewind: give the checkpoint a name: /checkpoint NAME", "warning");
  if (!(await session.server.ready())) return session.say(session.server.why ?? "Rewind is off", "warning");
  await session.points.settle();
  const entry = lastNode(ctx);
  let id: string;
  try {
    if (!(await mayUse(session, ctx, name))) return session.say(`Rewind: there is a checkpoint "${name}" already; nothing was changed`, "info");
    id = await session.take("checkpoint", { label: name, ...(entry ? { entry } : {}) });
    await session.server.request("pin", { id, name });
  } catch (error) {
    return session.say(`Rewind: checkpoint "${name}" could not be taken: ${reason(error)}`, "error");
  }
  if (entry) {
    session.points.bind(entry, id);
    // The label names the entry in /tree; it would be wrong on one whose point is another state.
    if (session.points.all.get(entry) === id) session.pi.setLabel(entry, name);
  }
  session.say(`Checkpoint "${name}" taken`, "info");
}

/** Whether the name is free, or the user wants it to move. */
async function mayUse(session: Session, ctx: ExtensionCommandContext, name: string): Promise<boolean> {
  if ((await session.pins())[name] === undefined) return true;
  if (!ctx.hasUI) return false;
  return (await ctx.ui.select(`A checkpoint has the name "${name}" already`, [OTHER, MOVE])) === MOVE;
}

/** The last entry of the branch that can have a point. */
function lastNode(ctx: ExtensionCommandContext): string | undefined {
  const branch = ctx.sessionManager.getBranch();
  for (let i = branch.length - 1; i >= 0; i--) {
    const entry = branch[i];
    if (!entry) continue;
    if (entry.type === "compaction" || entry.type === "branch_summary") return entry.id;
    if (entry.type === "message" && BINDABLE.has(entry.message.role)) return entry.id;
  }
  return undefined;
}
