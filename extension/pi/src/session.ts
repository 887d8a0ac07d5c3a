// Session is what the extension knows of the Pi session it was loaded for. The
// flows (fork, tree, browser) work through it.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Activity } from "./activity.ts";
import { RewindError } from "./client.ts";
import { programEnvironment } from "./environment.ts";
import { type FileState, fileState, FORK_PENDING, type LedgerEntry, OP, opRecord, pendingRecord, waysBack } from "./ledger.ts";
import { type BindableEntry, Points } from "./points.ts";
import type { ExistsResult as Existing, PointsResult, Snapshot as Recorded } from "./protocol.ts";
import { Retention } from "./retention.ts";
import { Server } from "./server.ts";
import type { Settings } from "./settings.ts";
import { Status } from "./status.ts";

/** How much longer than its deadline a snapshot is waited for. */
const GRACE_MS = 2_000;

export type Level = "info" | "warning" | "error";

export class Session {
  readonly pi: ExtensionAPI;
  readonly settings: Settings;
  readonly server: Server;
  readonly status: Status;
  readonly points: Points;
  readonly id: string;
  readonly activity: Activity;
  readonly retention: Retention;
  private ctx: ExtensionContext;
  private closed = false;
  private warned = "";
  private skipped = new Set<string>();
  private unread: string[] | undefined;

  constructor(pi: ExtensionAPI, ctx: ExtensionContext, settings: Settings) {
    this.pi = pi;
    this.ctx = ctx;
    this.settings = settings;
    this.id = ctx.sessionManager.getSessionId();
    this.status = new Status(settings.silentCheckpoints);
    const env = programEnvironment(settings, ctx.sessionManager.getSessionDir?.() ?? "");
    this.server = new Server({ binary: settings.binary, env, dir: ctx.cwd, warn: (message) => this.warn(message) });
    this.activity = new Activity((files) => this.record(files));
    this.retention = new Retention({ limits: settings.retention, prune: (startup, timeoutMs) => this.prune(startup, timeoutMs) });
    this.points = new Points({
      entries: () => this.ctx.sessionManager.getEntries() as readonly BindableEntry[],
      append: (kind, data) => this.append(kind, data),
      changed: (bound) => {
        this.status.count(bound);
        this.show();
      },
    });
  }

  /** Takes the context of the newest event: an older one may be stale. */
  use(ctx: ExtensionContext): this {
    this.ctx = ctx;
    return this;
  }

  show(): void {
    if (this.closed) return;
    if (this.server.off) this.status.clear(this.ctx);
    else this.status.show(this.ctx);
  }

  /** Tells the user something that went well; silent mode leaves it out. */
  info(message: string): void {
    if (!this.settings.silentCheckpoints) this.say(message, "info");
  }

  warn(message: string): void {
    if (message === this.warned) return; // once is enough, the footer goes on saying it
    this.warned = message;
    this.say(message.startsWith("Rewind") ? message : `Rewind: ${message}`, "warning");
  }

  say(message: string, level: Level): void {
    if (this.closed) return;
    if (this.ctx.hasUI) this.ctx.ui.notify(message, level);
    else if (level !== "info") process.stderr.write(`${message}\n`);
  }

  /** Tells the user what he has to know. In a dialog it waits for its end: the redraw that follows would wipe it. */
  tell(message: string): void {
    if (this.unread) this.unread.push(message);
    else this.say(message, "warning");
  }

  /** Runs a dialog with the user; at its end what he has to know stands until he has read it. */
  async dialog<T>(ctx: ExtensionContext, run: () => Promise<T>): Promise<T> {
    const unread: string[] = [];
    this.unread = unread;
    try {
      return await run();
    } finally {
      this.unread = undefined;
      for (const message of unread) {
        if (ctx.hasUI) await ctx.ui.select(message, ["OK"]);
        else this.say(message, "warning");
      }
    }
  }

  /** Records the files. Throws if that fails. */
  async take(trigger: string, more: { label?: string; entry?: string } = {}): Promise<string> {
    const timeoutMs = this.settings.snapshotTimeoutMs;
    const params = { trigger, session: this.id, ...more, deadlineMs: timeoutMs };
    const recorded = await this.server.request<Recorded>("snapshot", params, { timeoutMs: timeoutMs + GRACE_MS });
    this.worked();
    if (!recorded.reused) this.retention.taken();
    this.nameSkipped(recorded);
    if (recorded.exposed?.length) {
      const names = recorded.exposed.map((e) => (typeof e === "string" ? e : Buffer.from(e.b64, "base64").toString()));
      this.tell(`Rewind: these look like secrets, and their content is in git's objects now: ${some(names)}. \`git config rewind.secrets builtin\` keeps such files out from now on; \`rewind purge PATH\` removes them from the history`);
    }
    if (recorded.cost) {
      const { store_bytes, git_bytes, free_bytes } = recorded.cost;
      this.tell(`Rewind: history takes ${size(store_bytes + git_bytes)}, more than a tenth of the ${size(free_bytes)} that are free on the disk. \`rewind status\` says where; \`rewind prune --max-store-size SIZE --gc\` drops the oldest points`);
    }
    if (!recorded.id) throw new Error("the snapshot has no id"); // only one that was planned has none
    return recorded.id;
  }

  /** Records the files. Never throws: a failure is a warning, and the answer undefined. */
  async snapshot(trigger: string): Promise<string | undefined> {
    if (this.server.off || this.closed) return undefined;
    try {
      return await this.take(trigger);
    } catch (error) {
      this.failed("snapshot failed", error);
      return undefined;
    }
  }

  /** The snapshot of an entry that can be restored: bound here, or in a session this one was forked from. */
  async resolve(entry: string): Promise<string | undefined> {
    const own = this.points.all.get(entry);
    if (own && (await this.exists(own))) return own;
    const file = this.ctx.sessionManager.getHeader()?.parentSession;
    if (!file) return undefined;
    const found = await this.server.request<PointsResult>("points", { file, entries: [entry] });
    return found.points[entry];
  }

  /** Whether the session has an entry. */
  has(entry: string): boolean {
    return this.ctx.sessionManager.getEntries().some((e) => e.id === entry);
  }

  async exists(id: string): Promise<boolean> {
    const { ids } = await this.server.request<Existing>("exists", { ids: [id] });
    return ids.includes(id);
  }

  /** The way back from the last restore on this branch, if it still exists. */
  async undoable(): Promise<string | undefined> {
    const { undo } = fileState(this.ctx.sessionManager.getBranch() as LedgerEntry[]);
    return undo && (await this.exists(undo)) ? undo : undefined;
  }

  /** The ways back of this session's restores, each with where the conversation was, if it was moved too. */
  get waysBack(): Map<string, string | undefined> {
    return waysBack(this.ctx.sessionManager.getEntries() as LedgerEntry[]);
  }

  /** The names that snapshots have, each with its snapshot. */
  async pins(): Promise<Record<string, string>> {
    return (await this.server.request<{ pins: Record<string, string> | null }>("pins")).pins ?? {};
  }

  /** Writes into the ledger what the files are now, and binds entries to that. */
  record(state: FileState, bound: readonly string[] = []): void {
    const record = opRecord(state, bound);
    if (!record) return;
    this.append(OP, record);
    this.points.reload();
  }

  /** Leaves for the child of the fork that is about to happen what the files are; undefined: that is not known, nor is what was left for another child. */
  handOver(files: FileState | undefined): void {
    if (files?.current || this.points.pending) this.append(FORK_PENDING, pendingRecord(files?.current, files?.undo));
  }

  failed(what: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (!this.server.off) this.warn(`Rewind: ${what} (${message})`);
    this.footer(`${what}: ${message}`);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.server.close();
  }

  /** Something worked: what failed before is over. */
  worked(): void {
    this.status.failed(undefined);
    this.warned = "";
    this.show();
  }

  /** What the footer goes on saying until something works again. */
  footer(message: string): void {
    this.status.failed(message);
    this.show();
  }

  private async prune(startup: boolean, timeoutMs?: number): Promise<void> {
    if (this.server.off) return;
    try {
      await this.server.request("prune", { session: this.id, startup }, timeoutMs === undefined ? {} : { timeoutMs });
    } catch (error) {
      this.failed("old snapshots could not be dropped", error);
    }
  }

  private nameSkipped(recorded: Recorded): void {
    const fresh = recorded.skipped.filter((n) => !this.skipped.has(n.path));
    for (const n of fresh) this.skipped.add(n.path);
    if (fresh.length > 0) this.info(`Rewind: not in the snapshots, and never deleted: ${some(fresh.map((n) => `${n.path} (${n.reason})`))}`);
  }

  /** Writes into the session; false if that fails, which must not hinder the agent. */
  private append(kind: string, data: object): boolean {
    if (this.closed) return false;
    try {
      this.pi.appendEntry(kind, data);
      return true;
    } catch (error) {
      this.failed("the session cannot be written: points are taken, but not bound to messages", error);
      return false;
    }
  }
}

/** Joins the first few names and counts the others. */
export function some(names: readonly string[], most = 5, between = ", "): string {
  const more = names.length - most;
  return names.slice(0, most).join(between) + (more > 0 ? ` and ${more} more` : "");
}

export function reason(error: unknown): string {
  return error instanceof RewindError || error instanceof Error ? error.message : String(error);
}

/** Bytes for a person. */
function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  for (; bytes >= 1024 && at < units.length - 1; at++) bytes /= 1024;
  return `${at === 0 ? bytes : bytes.toFixed(1)} ${units[at]}`;
}
