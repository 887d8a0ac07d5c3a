// The results of `rewind serve --stdio`, as docs/protocol.schema.json has them. Written by
// `go test ./cmd/internal/command -run Reference -update`: change the program, not this file.

export interface Blame {
  path: string;
  /** its bytes, where it is not UTF-8 */ path_b64?: string;
  /** the snapshot whose file it is; not there: the file as it is now */ at?: string;
  lines: BlameLine[];
  /** newest first */ snapshots: Record[];
  /** why nothing older is known (exit 5) */ unread?: string;
}

export interface BlameLine {
  line: number;
  /** without its end */ text: string;
  /** its bytes, where it is not UTF-8 */ text_b64?: string;
  /** not there: not recorded yet */ snapshot?: string;
  /** what the file was called there, if that was something else */ was?: string;
  /** it may be older than that */ older?: boolean;
}

export interface Change {
  path: string;
  /** its bytes, where it is not UTF-8 */ path_b64?: string;
  /** A added, D deleted, M modified, T of another type */ status: "A" | "D" | "M" | "T";
  /** what it was called before, with the same content: the old name is a change of its own */ from?: Path;
  old_mode?: string;
  new_mode?: string;
  added?: number;
  removed?: number;
  binary?: boolean;
}

export interface Changed {
  /** where the files stood before it; none of the first of a history */ base?: string;
  files: number;
  dirs?: number;
  added: number;
  removed: number;
  /** files of which the lines, `added` and `removed`, are not counted */ uncounted?: number;
  /** with `coarse` of directories, with how many files changed in each */ names: ChangedName[];
  coarse?: boolean;
}

export interface ChangedName {
  path: string;
  /** its bytes, where it is not UTF-8 */ path_b64?: string;
  status?: string;
  /** what it was called before, with the same content: the old name is a change of its own */ from?: Path;
  dir?: boolean;
  files?: number;
  added?: number;
  removed?: number;
}

export interface Collected {
  before_bytes: number;
  after_bytes: number;
}

export interface Cost {
  store_bytes: number;
  git_bytes: number;
  free_bytes: number;
}

export interface Held {
  objects: number;
  bytes?: number;
  prune_expire: string;
  reflog?: boolean;
  command: string;
}

export interface Left {
  id: string;
  reason: string;
}

export interface List {
  snapshots: Record[];
}

export interface Log {
  asked: Path;
  log: Touch[];
}

export interface Note {
  path: string;
  /** its bytes, where it is not UTF-8 */ path_b64?: string;
  reason: string;
}

export interface Operation {
  seq: number;
  kind: string;
  /** key of the worktree */ worktree: string;
  /** what lies below it on the stack of undo or redo */ below?: number;
  /** how many it is from the bottom of that stack */ depth?: number;
  /** the snapshot taken just before */ from: string;
  /** the snapshot that was restored; of a merge, whose state was merged in last */ to: string;
  /** the snapshot at which the files stood before it */ stood?: string;
  /** limited to these patterns; empty: everything */ paths?: (string | { b64: string })[];
  /** the operation that an undo or redo takes back */ reverts?: number;
  /** blob: the steps in JSON */ plan: string;
  /** in the names of its temporary files */ key: string;
  contents?: string[];
  started: string;
  /** zero: unfinished */ ended?: string;
  partial?: boolean;
  /** where somebody else had put what its steps were to put */ there?: (string | { b64: string })[];
  /** begun during a bisect: not to be seen in the history */ in_bisect?: boolean;
  /** it was begun elsewhere, and came with a resume */ brought?: boolean;
  /** of such a one: the key of what lay on top of the other stack */ beside?: string;
}

export interface Path {
  path: string;
  /** its bytes, where it is not UTF-8 */ path_b64?: string;
}

export interface Pins {
  /** the name of each pin, and the id that it is at */ pins: { [name: string]: string };
}

export interface Plan {
  id: string;
  /** what undo returns to; not there: nothing had to change, and nothing was recorded */ undo?: string;
  dry_run?: boolean;
  /** of a plan */ changes?: Change[];
  written: number;
  deleted: number;
  /** what stays beside what the snapshot has, also what could not be recorded before */ kept: Note[];
  /** what changed meanwhile, or cannot be merged */ conflicts: Note[];
  /** has both versions now, between markers */ marked?: Note[];
  /** was damaged in the store, and is whole again */ renewed?: Note[];
  /** of the snapshot to which undo returns; not there on a dry run, and of what was recovered */ bridged?: boolean;
  recovered?: Restored;
  /** of a plan: what is finished first */ unfinished?: string;
  elapsed_ms: number;
  /** of the target */ branch?: string;
  /** where it would be carried out */ here?: string;
  /** tells it from any other plan */ plan?: string;
  /** what it would change, line by line; nil if nobody asked */ patch?: string;
  truncated?: boolean;
}

export interface Point {
  label?: string;
  session?: string;
  entry?: string;
  trigger?: string;
  /** the program whose session it is, where no ledger of ours tells of it */ agent?: string;
  /** how the prompt begins that the entry belongs to */ prompt?: string;
  /** the label was given after the snapshot was recorded; it says nothing else */ later?: boolean;
  time: string;
}

export interface Pruned {
  dry_run?: boolean;
  dropped: Record[];
  /** of pi-rewind-hook */ foreign: string[];
  /** how many stay, by the reason */ kept: { [name: string]: number };
  ledgers: number;
  objects: number;
  freed_bytes: number;
  bridged: boolean;
  /** what git still has of what was dropped */ git?: Held;
  /** with --gc: what git's objects took, and take now */ collected?: Collected;
  recovered?: Restored;
  unfinished?: string;
}

export interface Record {
  id: string;
  tree: string;
  overlay?: string;
  time: string;
  worktree: string;
  branch?: string;
  head?: string;
  label?: string;
  points: Point[];
  skipped: Note[];
  source?: Source;
  /** why it is not whole any more: git lost what it alone had */ lost?: string;
  /** what it could not have contained */ limits?: string[];
  /** it is an undo snapshot */ of_restore?: boolean;
  /** those of the form undo:N */ names?: string[];
  /** the files stand at it */ here?: boolean;
  /** the names of its pins */ pins?: string[];
  /** what it changed since `base`; not there: not known */ changed?: Changed;
}

export interface Restored {
  id: string;
  /** what undo returns to; not there: nothing had to change, and nothing was recorded */ undo?: string;
  dry_run?: boolean;
  /** of a plan */ changes?: Change[];
  written: number;
  deleted: number;
  /** what stays beside what the snapshot has, also what could not be recorded before */ kept: Note[];
  /** what changed meanwhile, or cannot be merged */ conflicts: Note[];
  /** has both versions now, between markers */ marked?: Note[];
  /** was damaged in the store, and is whole again */ renewed?: Note[];
  /** of the snapshot to which undo returns; not there on a dry run, and of what was recovered */ bridged?: boolean;
  recovered?: Restored;
  /** of a plan: what is finished first */ unfinished?: string;
  elapsed_ms: number;
}

export interface Shown {
  id: string;
  tree: string;
  overlay?: string;
  time: string;
  worktree: string;
  branch?: string;
  head?: string;
  label?: string;
  points: Point[];
  skipped: Note[];
  source?: Source;
  /** why it is not whole any more: git lost what it alone had */ lost?: string;
  /** what it could not have contained */ limits?: string[];
  /** it is an undo snapshot */ of_restore?: boolean;
  /** those of the form undo:N */ names?: string[];
  /** the files stand at it */ here?: boolean;
  /** the names of its pins */ pins?: string[];
  /** what it changed since `base`; not there: not known */ changed?: Changed;
  changes: Change[];
}

export interface Snapshot {
  /** with --dry-run only if a snapshot of this state exists as the last one */ id?: string;
  tree: string;
  overlay?: string;
  reused: boolean;
  /** paths that differ from where the files stood; of the first snapshot, its files and links; not there: it could not be counted */ changed?: number;
  /** every path that was left out, or that the store alone has because git's tree cannot hold it */ skipped: Note[];
  /** those of them that make it exit 5 */ unexpected: Note[];
  /** how many a setting leaves out */ excluded?: number;
  /** changed while they were read */ unstable?: Note[];
  /** untracked, look like secrets and are in git objects now: each once until it is purged */ exposed?: (string | { b64: string })[];
  /** false: it is in the store, and could not be brought into git; the next command tries again */ bridged: boolean;
  /** what history takes of the disk: when that passes a tenth of what is free, once, and again when it has doubled */ cost?: Cost;
  ref?: string;
  /** what was done to finish an interrupted restore first, here as in all other objects */ recovered?: Restored;
  /** why an interrupted restore could not be finished, and is left as it is; of what finishes none, as with --dry-run: it shows the files as that left them */ unfinished?: string;
  elapsed_ms: number;
}

export interface Source {
  kind: string;
  ref?: string;
  commit: string;
}

export interface State {
  /** the snapshot at which they stood */ current?: string;
  /** what undo would have returned to */ undo?: string;
}

export interface Status {
  root: string;
  /** the worktree belongs to a git repository */ git: boolean;
  /** the store's file */ store: string;
  /** of that file on disk; 0: not made yet */ store_bytes: number;
  /** of the files that rewind wrote among git's objects; what git has packed anew since is not counted */ git_bytes: number;
  /** that the user may still write where the store is; nil: the system does not tell */ free_bytes?: number;
  /** the store and git together take more than a tenth of that */ much?: boolean;
  /** of this worktree */ snapshots: number;
  /** of all worktrees that share the store */ total: number;
  /** this worktree's newest snapshot */ last?: string;
  last_time?: string;
  /** the newest that was recorded on purpose: "@" */ recorded?: string;
  recorded_time?: string;
  /** where its files stand */ here?: string;
  /** which ignored files are recorded: rewind.ignored */ ignored: string;
  /** snapshots that are not in git yet */ pending: number;
  /** the ref does not keep what it did; the next snapshot mends it */ ref_lost?: boolean;
  unfinished?: Operation;
  /** operations that undo can take back */ undo: number;
  /** undos that redo can take back */ redo: number;
  /** look like secrets and went into git objects, and were not purged since */ exposed?: (string | { b64: string })[];
  /** the next snapshot of this program looks only where something changed */ watched?: boolean;
  /** why not; empty also where nothing would be watched */ unwatched?: string;
  warnings?: string[];
  skipped: Note[];
  lost?: Left[];
  /** since where the files stand; only where a process watches, which knows where to look */ changed?: Change[];
}

export interface Synced {
  /** what was finished */ recovered?: Restored;
}

export interface Touch {
  path: string;
  /** its bytes, where it is not UTF-8 */ path_b64?: string;
  /** git's letter */ status: string;
  /** what it was called before, where the status is R */ from?: Path;
  /** at the path and below it */ changed?: Changed;
  snapshot: Record;
}

export interface CatResult {
  data: string;
  /** there are other bytes behind them */ more?: boolean;
}

export interface DiffResult {
  changes?: Change[];
  /** the worktree is as an interrupted restore left it */ unfinished?: string;
  patch?: string;
  /** it was cut at maxBytes */ truncated?: boolean;
}

export interface ExistsResult {
  /** those that name a snapshot that can be restored */ ids: string[];
  /** by id, on which it was recorded */ branches?: { [name: string]: string };
  /** the present branch */ here?: string;
}

export interface InitializeResult {
  /** the version in force */ protocol: number;
  /** of the program */ version: string;
  /** of the worktree */ root: string;
  /** it belongs to a git repository */ git: boolean;
  branch?: string;
  /** the hash behind the ids: sha1, sha256 or blake3 */ algorithm: string;
  /** the store's file */ store: string;
  warnings: string[];
}

export interface LabelResult {
}

export interface PinResult {
}

export interface PointsResult {
  /** by entry, what it is bound to */ points: { [name: string]: string };
  /** the snapshot at which they stood */ current?: string;
  /** what undo would have returned to */ undo?: string;
  /** what `leaf` left for the child of its last fork */ pending?: State;
}
