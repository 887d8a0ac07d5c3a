// The snapshots of a worktree as far as they were asked for: a page, and more
// when somebody wants to see more.

import { arrange, type Entry, select } from "./moments.ts";
import type { SnapshotRecord } from "./records.ts";

export const PAGE = 256;

/** Which of them are shown. */
export interface Filter {
  /** Words of prompts, labels, agents, pins and ids: all of them. */
  words?: string[];
  /** Only what changed something there. */
  paths?: string[];
  /** What people are told about it. */
  title: string;
}

export type Ask = <T>(method: string, params: object) => Promise<T>;

export class History {
  records: SnapshotRecord[] = [];
  entries: Entry[] = [];
  /** Whether there are older ones. */
  more = false;
  private readonly ask: Ask;
  private readonly here: () => string | undefined;
  private loading: Promise<void> | undefined;
  private fresh = false;

  /** Here says at which snapshot the files stand. */
  constructor(ask: Ask, here: () => string | undefined) {
    this.ask = ask;
    this.here = here;
  }

  /** Reads the newest page, if that is not known to be right; those behind it are there already. */
  load(): Promise<void> {
    if (this.fresh) return this.loading ?? Promise.resolve();
    this.fresh = true; // what changes from here on makes it outdated again
    const read = this.newest().catch((error) => {
      this.fresh = false;
      throw error;
    });
    this.loading = read;
    return read;
  }

  /** Reads the page behind those that are there. */
  async older(): Promise<void> {
    await this.load();
    const last = this.records.at(-1);
    if (last && this.more) await this.behind(last.id, PAGE);
  }

  /** What matches a filter, of all snapshots that there are. */
  async matching(filter: Filter): Promise<Entry[]> {
    await this.load();
    const last = this.records.at(-1);
    if (last && this.more) await this.behind(last.id, 0);
    const { words, paths } = filter;
    const touched = paths && new Set((await this.list({ paths })).map((r) => r.id));
    return select(this.entries, words ?? [], touched);
  }

  /** Something was recorded or restored. */
  outdated(): void {
    this.fresh = false;
  }

  private async newest(): Promise<void> {
    const page = await this.list({ changes: true, limit: PAGE });
    const end = page.at(-1)?.id;
    const at = this.records.findIndex((r) => r.id === end);
    if (at < 0 || page.length < PAGE) {
      this.more = page.length >= PAGE;
      this.take(page);
      return;
    }
    const here = page.find((r) => r.here)?.id ?? this.here();
    this.take([...page, ...this.records.slice(at + 1).map((r) => ({ ...r, here: r.id === here }))]);
  }

  private async behind(id: string, limit: number): Promise<void> {
    const page = await this.list({ changes: true, limit, older: id });
    if (this.records.at(-1)?.id !== id) return; // it was read beside this
    this.more = limit > 0 && page.length >= limit;
    this.take([...this.records, ...page]);
  }

  private take(records: SnapshotRecord[]): void {
    this.records = records;
    this.entries = arrange(records);
  }

  private async list(params: object): Promise<SnapshotRecord[]> {
    return (await this.ask<{ snapshots: SnapshotRecord[] }>("list", params)).snapshots;
  }
}
