// Points binds entries of the conversation to snapshots.
//
// Pi announces a message before its entry exists: what is announced waits here
// with its snapshot until the entry, which holds the very same message object,
// is in the session. Each binding is written once and never changed.

import { bindings, hasPending, OP, opRecord, TURN, turnRecord } from "./ledger.ts";

/** An entry as far as binding looks at it. */
export interface BindableEntry {
  id: string;
  type: string;
  customType?: string;
  data?: unknown;
  message?: unknown;
}

export interface PointsHost {
  entries(): readonly BindableEntry[];
  /** False if that failed. */
  append(kind: string, data: object): boolean;
  changed(bound: ReadonlyMap<string, string>): void;
}

interface Waiting {
  message: object;
  role: unknown;
  since: number; // entries there were when the message was announced
  entry: string | undefined;
  snapshot: string | undefined;
  settled: boolean;
  done: Promise<void>;
}

const ROLES = new Set<unknown>(["user", "assistant"]);

export class Points {
  private readonly host: PointsHost;
  private bound = new Map<string, string>();
  private waiting: Waiting[] = [];
  private readonly announced = new WeakSet<object>();
  private readonly before: number;

  constructor(host: PointsHost) {
    this.host = host;
    this.before = host.entries().length;
  }

  /** Reads the bindings of the session again. */
  reload(): void {
    this.bound = bindings(this.host.entries());
    this.host.changed(this.bound);
  }

  get all(): ReadonlyMap<string, string> {
    return this.bound;
  }

  /** Whether the session left something for the child of a fork. */
  get pending(): boolean {
    return hasPending(this.host.entries());
  }

  /** Announces a message and the snapshot that will belong to it; entry: its entry's id, if it is known already. */
  expect(message: object, snapshot: Promise<string | undefined>, entry?: string): Promise<void> {
    if (this.announced.has(message)) return Promise.resolve();
    this.announced.add(message);
    const role = roleOf(message);
    const since = role === "user" ? this.host.entries().length : 0;
    const waiting: Waiting = { message, role, since, entry, snapshot: undefined, settled: false, done: Promise.resolve() };
    waiting.done = snapshot.then((id) => {
      waiting.snapshot = id;
      waiting.settled = true;
      this.flush();
    });
    this.waiting.push(waiting);
    return waiting.done;
  }

  /** Waits until every announced snapshot is taken, or failed, or the signal fires. */
  async settle(signal?: AbortSignal): Promise<void> {
    const all = Promise.all(this.waiting.map((w) => w.done)).then(() => {});
    await (signal ? Promise.race([all, aborted(signal)]) : all);
    this.flush();
  }

  /** Whether messages became entries that nobody has announced yet. */
  get behind(): boolean {
    const added = this.host.entries().slice(this.before);
    return added.some((e) => e.type === "message" && !this.bound.has(e.id) && ROLES.has(roleOf(e.message)) && !this.announced.has(e.message as object));
  }

  /** Writes what can be written: snapshots that are taken, of entries that exist. */
  flush(): void {
    const ready = this.waiting.filter((w) => w.settled);
    if (ready.length === 0) return;
    const entries = this.host.entries();
    const pairs: [string, string][] = [];
    for (const w of ready) {
      if (w.snapshot !== undefined) {
        const entry = w.entry ?? this.find(entries, w, pairs);
        if (entry === undefined) continue;
        if (!this.bound.has(entry)) pairs.push([entry, w.snapshot]);
      }
      this.waiting.splice(this.waiting.indexOf(w), 1);
    }
    this.write(pairs);
  }

  /** Gives up on messages that never became an entry; the run is over. */
  forget(): void {
    this.flush();
    this.waiting = this.waiting.filter((w) => !w.settled);
  }

  /** Binds an entry that is there already, unless it is bound. */
  bind(entry: string, snapshot: string): void {
    if (this.bound.has(entry)) return;
    const record = opRecord({}, [entry], snapshot);
    if (!record || !this.host.append(OP, record)) return;
    this.bound.set(entry, snapshot);
    this.host.changed(this.bound);
  }

  private write(pairs: [string, string][]): void {
    if (pairs.length === 0 || !this.host.append(TURN, turnRecord(pairs))) return;
    for (const [entry, snapshot] of pairs) this.bound.set(entry, snapshot);
    this.host.changed(this.bound);
  }

  /**
   * Finds the entry of a message: the one that holds the same object; if
   * another extension replaced the object of a user message, the first that
   * was added since and is not bound.
   */
  private find(entries: readonly BindableEntry[], w: Waiting, taken: readonly [string, string][]): string | undefined {
    const same = entries.findLast((e) => e.message === w.message);
    if (same) return same.id;
    if (w.role !== "user") return undefined;
    const added = entries.slice(w.since).filter((e) => e.type === "message" && roleOf(e.message) === "user");
    const free = (id: string) => !this.bound.has(id) && !taken.some(([entry]) => entry === id);
    const mine = (e: BindableEntry) => !this.waiting.some((other) => other !== w && other.message === e.message);
    return added.find((e) => free(e.id) && mine(e))?.id;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function roleOf(message: unknown): unknown {
  return (message as { role?: unknown } | undefined)?.role;
}
