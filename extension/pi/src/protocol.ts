// The results of `rewind serve --stdio` that the extension uses, as
// docs/protocol.md has them.

export interface Initialized {
  protocol: number;
  version: string;
  root: string;
  git: boolean;
  branch?: string;
  warnings: string[];
}

export interface Note {
  path: string;
  reason: string;
}

export interface Recorded {
  id: string;
  reused: boolean;
  /** Absent where it could not be counted. */
  changed?: number;
  skipped: Note[];
  /** Files that look like secrets and are in git's objects now; named once in the life of a store. */
  exposed?: string[];
  cost?: { store_bytes: number; git_bytes: number; free_bytes: number };
  bridged: boolean;
}

export interface Change {
  path: string;
  status: "A" | "D" | "M" | "T";
  old_mode?: string;
  new_mode?: string;
  added?: number;
  removed?: number;
  binary?: boolean;
}

/** A restore, undo or redo that was carried out. */
export interface Restored {
  id: string;
  undo?: string;
  written: number;
  deleted: number;
  kept: Note[];
  conflicts: Note[];
}

/** A restore, undo or redo that would be carried out. */
export interface Plan {
  id: string;
  changes?: Change[];
  kept?: Note[];
  conflicts?: Note[];
  /** Branch of the snapshot and branch of now; both absent without git. */
  branch?: string;
  here?: string;
  /** The lines that it would change, where they were asked for. */
  patch?: string;
  truncated?: boolean;
}

/** Snapshots that are there, on which branch each was recorded, and the branch of now. */
export interface Existing {
  ids: string[];
  branches?: Record<string, string>;
  here?: string;
}

export interface Point {
  label?: string;
  session?: string;
  entry?: string;
  trigger?: string;
  time: string;
}

export interface SnapshotRecord {
  id: string;
  time: string;
  branch?: string;
  label?: string;
  points: Point[];
  skipped: Note[];
}

export interface Points {
  points: Record<string, string>;
  current?: string;
  undo?: string;
  pending?: { current: string; undo?: string };
}
