// Choosing single files of a point.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { oneLine } from "./history.ts";
import type { Change } from "./protocol.ts";

const NONE = "Cancel";
const VERBS: Readonly<Record<Change["status"], string>> = { A: "bring back", D: "delete", M: "restore", T: "restore" };

/** Lets the user mark changes; undefined if he leaves without choosing. */
export async function chooseFiles(ctx: ExtensionContext, changes: readonly Change[]): Promise<string[] | undefined> {
  if (changes.length === 0) {
    ctx.ui.notify("The files are as at this point", "info");
    return undefined;
  }
  const marked = new Set<number>();
  for (;;) {
    const go = `Restore the ${marked.size} marked`;
    const lines = changes.map((c, i) => `${marked.has(i) ? "[x]" : "[ ]"} ${i + 1}. ${VERBS[c.status]} ${oneLine(c.path)}`);
    const choice = await ctx.ui.select("Which files?", [...(marked.size > 0 ? [go] : []), ...lines, NONE]);
    if (choice === undefined || choice === NONE) return undefined;
    if (choice === go) return [...marked].sort((a, b) => a - b).map((i) => literal(changes[i] as Change));
    const index = lines.indexOf(choice);
    if (!marked.delete(index)) marked.add(index);
  }
}

/** A path, with the word before it by which it means this path alone. */
function literal(change: Change): string {
  return `:(literal)${change.path}`;
}
