// Which files of a restore can be chosen by themselves, and what a choice means.

import type { Change } from "./protocol.ts";
import { isDirectory } from "./restore.ts";

/** A line that can be marked. */
export interface Choice {
  change: Change;
  /** How many other changes it brings with it: those below a folder whose place it takes. */
  with: number;
}

/** The choices of a plan, and the folders that go with all that lies in them. */
export interface Choices {
  list: Choice[];
  folders: { path: string; below: number[] }[];
}

/**
 * Finds what can be chosen. A path stands for all below it: so a folder in which
 * something else changes is no choice of its own, or it would restore what was
 * not marked. It comes along when all of that is marked.
 */
export function choicesOf(changes: readonly Change[]): Choices {
  const at = new Map(changes.map((c, i) => [c.path, i]));
  const below = changes.map((): number[] => []);
  changes.forEach((c, i) => {
    for (let end = c.path.lastIndexOf("/"); end > 0; end = c.path.lastIndexOf("/", end - 1)) {
      const parent = at.get(c.path.slice(0, end));
      if (parent !== undefined) below[parent]?.push(i);
    }
  });
  const taken = new Set<number>();
  changes.forEach((c, i) => {
    if (isDirectory(c.old_mode) && c.new_mode !== undefined && !isDirectory(c.new_mode)) below[i]?.forEach((j) => taken.add(j));
  });
  const isFolder = (i: number) => (below[i]?.length ?? 0) > 0 && !(changes[i]?.new_mode !== undefined && !isDirectory(changes[i]?.new_mode));
  const choices: Choices = { list: [], folders: [] };
  const index = new Map<number, number>();
  changes.forEach((change, i) => {
    if (taken.has(i) || isFolder(i)) return;
    index.set(i, choices.list.length);
    choices.list.push({ change, with: below[i]?.length ?? 0 });
  });
  changes.forEach((c, i) => {
    if (taken.has(i) || !isFolder(i)) return;
    const inside = (below[i] ?? []).map((j) => index.get(j)).filter((j) => j !== undefined);
    choices.folders.push({ path: c.path, below: inside });
  });
  return choices;
}

/** The paths of what is marked, each with the word before it by which it means itself and no pattern. */
export function chosenPaths(choices: Choices, marked: ReadonlySet<number>): string[] {
  const paths = choices.list.filter((_c, i) => marked.has(i)).map((c) => c.change.path);
  const whole = choices.folders.filter((f) => f.below.every((i) => marked.has(i))).map((f) => f.path);
  return [...paths, ...whole].map((p) => `:(literal)${p}`);
}
