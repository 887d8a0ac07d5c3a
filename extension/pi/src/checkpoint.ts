// /checkpoint NAME: a point with a name, that no retention drops.

import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Session } from "./session.ts";

const BINDABLE = new Set(["user", "assistant"]);

export async function checkpoint(session: Session, ctx: ExtensionCommandContext, args: string): Promise<void> {
  const name = args.trim();
  if (name === "") return session.say("Rewind: give the checkpoint a name: /checkpoint NAME", "warning");
  if (session.server.off) return session.say("Rewind is off in this session; see the notice at its start", "warning");
  await session.points.settle();
  const entry = lastNode(ctx);
  const id = await session.snapshot("checkpoint", { label: name, ...(entry ? { entry } : {}) });
  if (!id) return;
  try {
    await session.server.request("pin", { id, name });
  } catch (error) {
    return session.failed("the checkpoint is taken, but not pinned", error);
  }
  if (entry) {
    session.points.bind(entry, id);
    // The label names the entry in /tree; it would be wrong on one whose point is another state.
    if (session.points.all.get(entry) === id) session.pi.setLabel(entry, name);
  }
  session.say(`Checkpoint "${name}" taken`, "info");
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
