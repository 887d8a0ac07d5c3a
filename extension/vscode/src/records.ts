// The results of `rewind serve --stdio` that the extension uses, as
// docs/protocol.md has them.

export interface Initialized {
  version: string;
  root: string;
  git: boolean;
  branch?: string;
  store: string;
  warnings: string[];
}

export interface NamedPath {
  path: string;
  /** Its bytes in base64, where it is not UTF-8. */
  path_b64?: string;
}

export interface Note extends NamedPath {
  reason: string;
}

export interface Point {
  label?: string;
  session?: string;
  entry?: string;
  trigger?: string;
  agent?: string;
  prompt?: string;
  time: string;
}

/** What a snapshot changed, since the state before it. */
export interface Changed {
  base?: string;
  files: number;
  added: number;
  removed: number;
}

export interface SnapshotRecord {
  id: string;
  time: string;
  branch?: string;
  label?: string;
  points: Point[];
  lost?: string;
  of_restore?: boolean;
  names?: string[];
  here?: boolean;
  pins?: string[];
  changed?: Changed;
}

export interface Change extends NamedPath {
  status: "A" | "D" | "M" | "T";
  from?: NamedPath;
  old_mode?: string;
  new_mode?: string;
  added?: number;
  removed?: number;
  binary?: boolean;
}

/** A restore, merge, undo or redo that would be carried out. */
export interface Plan {
  id: string;
  plan: string;
  changes?: Change[];
  kept: Note[];
  conflicts: Note[];
  branch?: string;
  here?: string;
  unfinished?: string;
}

/** One that was carried out. */
export interface Restored {
  id: string;
  undo?: string;
  written: number;
  deleted: number;
  kept: Note[];
  conflicts: Note[];
}

export interface Recorded {
  id: string;
  reused: boolean;
  changed?: number;
  unexpected: Note[];
}

export interface Status {
  root: string;
  snapshots: number;
  recorded?: string;
  recorded_time?: string;
  here?: string;
  undo: number;
  redo: number;
  last?: string;
}

export interface BlameLine {
  line: number;
  text: string;
  snapshot?: string;
  older?: boolean;
}

export interface Blame {
  lines: BlameLine[];
  snapshots: SnapshotRecord[];
}

/** Whether a change is of a directory: they come and go with their files. */
export function isDirectory(change: Change): boolean {
  return (change.new_mode ?? change.old_mode)?.startsWith("04") ?? false;
}

export function filesOf(changes: readonly Change[] | undefined): Change[] {
  return (changes ?? []).filter((c) => !isDirectory(c));
}
