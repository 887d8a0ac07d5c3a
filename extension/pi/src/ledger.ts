// The ledger: custom entries of a session that bind its entries to snapshots.
// pi-rewind-hook wrote these records first; each extension reads the other's.

export const TURN = "rewind-turn";
export const OP = "rewind-op";
export const FORK_PENDING = "rewind-fork-pending";

/** An entry of a session, as far as the ledger looks at it. */
export interface LedgerEntry {
  id: string;
  type: string;
  customType?: string;
  data?: unknown;
}

export interface TurnRecord {
  v: 2;
  snapshots: string[];
  bindings: [entry: string, snapshot: number][];
}

export interface OpRecord {
  v: 2;
  snapshots: string[];
  bindings?: [entry: string, snapshot: number][];
  current?: number;
  undo?: number;
  /** Where the conversation was before the operation, if that moved it. Not of pi-rewind-hook. */
  leaf?: string;
}

/** What the child of a fork begins with; without current nothing is known. */
export interface PendingRecord {
  v: 2;
  current?: string;
  undo?: string;
}

/** What the files were after an operation, and the way back. */
export interface FileState {
  current?: string | undefined;
  undo?: string | undefined;
  /** Where the conversation was before, if it was moved too. */
  leaf?: string | undefined;
}

class Snapshots {
  readonly list: string[] = [];

  index(id: string): number {
    const at = this.list.indexOf(id);
    return at >= 0 ? at : this.list.push(id) - 1;
  }
}

/** Makes the record of bindings, in the order of events. */
export function turnRecord(pairs: Iterable<readonly [entry: string, snapshot: string]>): TurnRecord {
  const snapshots = new Snapshots();
  const bindings: [string, number][] = [];
  for (const [entry, snapshot] of pairs) bindings.push([entry, snapshots.index(snapshot)]);
  return { v: 2, snapshots: snapshots.list, bindings };
}

/** Makes the record of an operation; undefined if it would say nothing. */
export function opRecord(state: FileState, bound: readonly string[] = [], to?: string): OpRecord | undefined {
  const snapshots = new Snapshots();
  const record: OpRecord = { v: 2, snapshots: snapshots.list };
  if (state.current) record.current = snapshots.index(state.current);
  if (state.undo) record.undo = snapshots.index(state.undo);
  if (state.undo && state.leaf) record.leaf = state.leaf;
  const target = to ?? state.current;
  if (target && bound.length > 0) record.bindings = bound.map((entry) => [entry, snapshots.index(target)]);
  return snapshots.list.length > 0 ? record : undefined;
}

export function pendingRecord(current?: string, undo?: string): PendingRecord {
  if (!current) return { v: 2 };
  return undo ? { v: 2, current, undo } : { v: 2, current };
}

/** Whether the last record for the child of a fork says something. */
export function hasPending(entries: readonly LedgerEntry[]): boolean {
  const last = entries.findLast((e) => e.type === "custom" && e.customType === FORK_PENDING);
  return typeof (last?.data as { current?: unknown } | null | undefined)?.current === "string";
}

/** Reads the bindings of all entries; a later one overrides an earlier one. */
export function bindings(entries: Iterable<LedgerEntry>): Map<string, string> {
  const bound = new Map<string, string>();
  for (const entry of entries) {
    const data = record(entry, TURN) ?? record(entry, OP);
    if (!data || !Array.isArray(data.bindings)) continue;
    for (const pair of data.bindings as unknown[]) {
      if (!Array.isArray(pair) || typeof pair[0] !== "string") continue;
      const id = at(data.snapshots, pair[1]);
      if (id) bound.set(pair[0], id);
    }
  }
  return bound;
}

/** Reads the state at the end of a branch; the last record that says it counts. */
export function fileState(branch: Iterable<LedgerEntry>): FileState {
  const state: FileState = {};
  for (const entry of branch) {
    const data = record(entry, OP);
    if (!data) continue;
    state.current = at(data.snapshots, data.current) ?? state.current;
    state.undo = at(data.snapshots, data.undo) ?? state.undo;
  }
  return state;
}

/**
 * Reads the ways back of all restores of a session: from the snapshot to the
 * entry at which the conversation was, or to undefined where only files changed.
 */
export function waysBack(entries: Iterable<LedgerEntry>): Map<string, string | undefined> {
  const ways = new Map<string, string | undefined>();
  for (const entry of entries) {
    const data = record(entry, OP);
    const undo = data ? at(data["snapshots"], data["undo"]) : pendingUndo(entry);
    if (undo) ways.set(undo, typeof data?.["leaf"] === "string" ? data["leaf"] : undefined);
  }
  return ways;
}

function pendingUndo(entry: LedgerEntry): string | undefined {
  if (entry.type !== "custom" || entry.customType !== FORK_PENDING) return undefined;
  const undo = (entry.data as { undo?: unknown } | null | undefined)?.undo;
  return typeof undo === "string" ? undo : undefined;
}

/** Returns the data of a valid record of the kind, undefined for anything else. */
function record(entry: LedgerEntry, kind: string): Record<string, unknown> | undefined {
  if (entry.type !== "custom" || entry.customType !== kind) return undefined;
  const data = entry.data;
  if (typeof data !== "object" || data === null) return undefined;
  const fields = data as Record<string, unknown>;
  return fields["v"] === 2 && Array.isArray(fields["snapshots"]) ? fields : undefined;
}

function at(snapshots: unknown, index: unknown): string | undefined {
  if (!Array.isArray(snapshots) || typeof index !== "number") return undefined;
  const id: unknown = snapshots[index];
  return typeof id === "string" && id !== "" ? id : undefined;
}
