// What a plan would do, as a list for people: deletions first. And what of it may
// be done, where some files may not be touched.

import { oneLine } from "./moments.ts";
import { covers, literal } from "./place.ts";
import { type Change, filesOf, isDirectory, type Plan } from "./records.ts";

export interface Row {
  group: Group;
  path: string;
  about: string;
  change?: Change;
}

export type Group = "Deleted" | "Unsaved text: left alone" | "Cannot be restored: left alone" | "Written" | "Stays beside it";

const VERBS: Readonly<Record<Change["status"], string>> = { A: "brought back", D: "deleted", M: "changed", T: "changed" };

/** The rows of the list, in its order. */
export function rowsOf(plan: Plan, unsaved: readonly string[]): Row[] {
  const files = filesOf(plan.changes);
  const row = (group: Group, change: Change): Row => ({ group, path: change.path, about: VERBS[change.status], change });
  return [
    ...files.filter((c) => c.status === "D").map((c) => row("Deleted", c)),
    ...unsaved.map((path): Row => ({ group: "Unsaved text: left alone", path, about: "an editor has unsaved text" })),
    ...plan.conflicts.map((n): Row => ({ group: "Cannot be restored: left alone", path: n.path, about: oneLine(n.reason) })),
    ...files.filter((c) => c.status !== "D").map((c) => row("Written", c)),
    ...plan.kept.map((n): Row => ({ group: "Stays beside it", path: n.path, about: oneLine(n.reason) })),
  ];
}

/** `2 deleted, 3 written`: what a plan comes to. */
export function effectOf(plan: Plan): string {
  const files = filesOf(plan.changes);
  const deleted = files.filter((c) => c.status === "D").length;
  const parts: string[] = [];
  if (deleted > 0) parts.push(`${deleted} deleted`);
  if (files.length > deleted) parts.push(`${files.length - deleted} written`);
  if (plan.conflicts.length > 0) parts.push(`${plan.conflicts.length} cannot be restored`);
  if (parts.length > 0) return parts.join(", ");
  return plan.changes?.length ? "only folders change" : "nothing to change";
}

export interface Split {
  /** The paths to ask for instead; undefined: the plan may be done as it is. */
  paths: string[] | undefined;
  /** Files that would have changed, and have unsaved text. */
  unsaved: string[];
  /** How many changes lie in other folders of the workspace. */
  elsewhere: number;
  /** Changes that are left out as they cannot be named alone. */
  unnamed: number;
}

/**
 * What of a plan may be done: neither files with unsaved text nor what lies in
 * other folders of the workspace. A path that is asked for takes along all below
 * it, so that directories are not named, and nothing that covers what is left out.
 */
export function split(plan: Plan, unsaved: readonly string[], elsewhere: readonly string[]): Split {
  const out: Split = { paths: undefined, unsaved: [], elsewhere: 0, unnamed: 0 };
  const paths: string[] = [];
  const held = new Set<string>();
  for (const change of plan.changes ?? []) {
    const meets = (other: string) => covers(change.path, other) || covers(other, change.path);
    const blocked = isDirectory(change) ? unsaved.filter((u) => u === change.path) : unsaved.filter(meets);
    for (const u of blocked) held.add(u);
    if (elsewhere.some((dir) => covers(dir, change.path) || (!isDirectory(change) && covers(change.path, dir)))) out.elsewhere++;
    else if (isDirectory(change) || blocked.length > 0) continue;
    else if (change.path_b64) out.unnamed++;
    else paths.push(literal(change.path));
  }
  out.unsaved = [...held].sort();
  if (out.unsaved.length > 0 || out.elsewhere > 0) out.paths = paths;
  else out.unnamed = 0;
  return out;
}
