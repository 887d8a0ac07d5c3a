// What `rewind serve --stdio` answers, by the names that the extension has for it.

import type { Change } from "../../pi/src/protocol.ts";

export type {
  Blame, Change, InitializeResult as Initialized, Note, Path as NamedPath, Plan, Point, Record as SnapshotRecord, Restored, Snapshot as Recorded, Status,
} from "../../pi/src/protocol.ts";

/** Whether a change is of a directory: they come and go with their files. */
export function isDirectory(change: Change): boolean {
  return (change.new_mode ?? change.old_mode)?.startsWith("04") ?? false;
}

export function filesOf(changes: readonly Change[] | undefined): Change[] {
  return (changes ?? []).filter((c) => !isDirectory(c));
}
