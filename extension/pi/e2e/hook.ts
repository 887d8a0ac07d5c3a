// What pi-rewind-hook 1.8 does, written from its formats alone: the store in
// git, the ledger, how it finds a point and puts it back.

import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, rmSync } from "node:fs";
import path from "node:path";
import { type Entry, readSession, type Sandbox } from "./sandbox.ts";

const STORE = "refs/pi-rewind/store";
const EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** Takes a snapshot as the hook does: a tree of a fresh index, a commit without parents, a link of the chain. */
export function hookSnapshot(box: Sandbox): string {
  const tree = freshTree(box);
  const commit = box.git("commit-tree", tree, "-m", "pi rewind snapshot");
  const old = storeTip(box);
  const parents = old ? ["-p", old, "-p", commit] : ["-p", commit];
  box.git("hash-object", "-t", "tree", "-w", "/dev/null");
  const link = box.git("commit-tree", EMPTY, ...parents, "-m", "pi rewind store");
  box.git("update-ref", STORE, link, old ?? "0".repeat(40));
  return commit;
}

function freshTree(box: Sandbox): string {
  const index = path.join(box.root, "hook-index");
  rmSync(index, { force: true });
  const env = { ...box.env, GIT_INDEX_FILE: index };
  execFileSync("git", ["add", "-A"], { cwd: box.repo, env });
  return execFileSync("git", ["write-tree"], { cwd: box.repo, env, encoding: "utf8" }).trim();
}

function storeTip(box: Sandbox): string | undefined {
  try {
    return box.git("rev-parse", "--verify", "-q", STORE);
  } catch {
    return undefined;
  }
}

/** Appends a record to a session that is closed. */
export function hookRecord(file: string, customType: string, data: object): void {
  const last = readSession(file).at(-1);
  const entry = { type: "custom", customType, data, id: Math.random().toString(16).slice(2, 10), parentId: last?.id, timestamp: new Date().toISOString() };
  appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** Finds the snapshot of an entry: bindings of the session, then of its parents, until one whose commit exists. */
export function hookResolve(box: Sandbox, file: string, entry: string): string | undefined {
  for (let at: string | undefined = file; at && existsSync(at); ) {
    const lines: Entry[] = readSession(at);
    let found: string | undefined;
    for (const line of lines) {
      const data = line.data;
      if (line.type !== "custom" || data?.v !== 2 || !Array.isArray(data.snapshots)) continue;
      if (line.customType !== "rewind-turn" && line.customType !== "rewind-op") continue;
      for (const [id, index] of data.bindings ?? []) if (id === entry && data.snapshots[index]) found = data.snapshots[index];
    }
    if (found && isCommit(box, found)) return found;
    at = lines[0]?.parentSession;
  }
  return undefined;
}

/** The state at the end of a session, as the hook reads it where it opens one. */
export function hookState(file: string): { current?: string | undefined; undo?: string | undefined } {
  const entries = readSession(file);
  const byId = new Map(entries.map((e) => [e.id, e]));
  const state: { current?: string | undefined; undo?: string | undefined } = {};
  for (let at = entries.at(-1); at && !(state.current && state.undo); at = at.parentId ? byId.get(at.parentId) : undefined) {
    if (at.customType !== "rewind-op" || !at.data?.snapshots) continue;
    if (typeof at.data.current === "number") state.current ??= at.data.snapshots[at.data.current];
    if (typeof at.data.undo === "number") state.undo ??= at.data.snapshots[at.data.undo];
  }
  return state;
}

/** Puts a snapshot back as the hook does: deletions by a difference of trees, then git restore. */
export function hookRestore(box: Sandbox, commit: string): void {
  const now = freshTree(box);
  const deleted = box.git("diff", "--no-renames", "--name-only", "--diff-filter=D", "-z", now, commit, "--");
  for (const name of deleted.split("\0").filter(Boolean)) rmSync(path.join(box.repo, name), { recursive: true, force: true });
  box.git("restore", `--source=${commit}`, "--worktree", "--", ".");
}

/** Every snapshot that the chain keeps. */
export function hookStore(box: Sandbox): Set<string> {
  const kept = new Set<string>();
  for (let at = storeTip(box); at; ) {
    const [subject, ...parents] = box.git("log", "-1", "--format=%s %P", at).replace("pi rewind store", "store").split(" ");
    if (subject !== "store") break;
    for (const parent of parents) if (box.git("log", "-1", "--format=%s", parent) === "pi rewind snapshot") kept.add(parent);
    const [first] = parents;
    at = first && !kept.has(first) ? first : undefined;
  }
  return kept;
}

function isCommit(box: Sandbox, id: string): boolean {
  try {
    return box.git("cat-file", "-t", id) === "commit";
  } catch {
    return false;
  }
}
