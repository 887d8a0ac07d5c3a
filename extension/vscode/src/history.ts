// The snapshots of a worktree as far as they were asked for: a page, and more
// when somebody wants to see more.

import { arrange, type Entry } from "./moments.ts";
import type { SnapshotRecord } from "./records.ts";

export const PAGE = 256;

/** Which snapshots are shown. */
export interface Filter {
  /** Text of a label or prompt. */
  grep?: string;
  /** Only those that changed something there. */
  paths?: string[];
  /** What people are told about it. */
  title: string;
}

export type Ask = <T>(method: string, params: object) => Promise<T>;

export class History {
  filter: Filter | undefined;
  records: SnapshotRecord[] = [];
  entries: Entry[] = [];
  /** Whether there are older ones. */
  more = false;
  private readonly ask: Ask;
  private loading: Promise<void> | undefined;
  private fresh = false;

  constructor(ask: Ask) {
    this.ask = ask;
  }

  /** Reads the first page, or all that was there before, if that is not known to be right. */
  load(): Promise<void> {
    if (this.fresh) return Promise.resolve();
    this.loading ??= this.read(Math.max(PAGE, this.records.length), undefined).finally(() => {
      this.loading = undefined;
    });
    return this.loading;
  }

  /** Reads the page behind those that are there. */
  async older(): Promise<void> {
    await this.load();
    const last = this.records.at(-1);
    if (last && this.more) await this.read(PAGE, last.id);
  }

  /** Something was recorded or restored. */
  outdated(): void {
    this.fresh = false;
  }

  show(filter: Filter | undefined): void {
    this.filter = filter;
    this.records = [];
    this.entries = [];
    this.fresh = false;
  }

  private async read(limit: number, older: string | undefined): Promise<void> {
    const filter = this.filter;
    if (!older) this.fresh = true; // what changes from here on makes it outdated again
    try {
      const { grep, paths } = filter ?? {};
      const { snapshots } = await this.ask<{ snapshots: SnapshotRecord[] }>("list", { changes: true, limit, ...(older ? { older } : {}), ...(grep ? { grep } : {}), ...(paths ? { paths } : {}) });
      if (this.filter !== filter) return;
      this.records = older ? [...this.records, ...snapshots] : snapshots;
      this.more = snapshots.length >= limit;
      this.entries = arrange(this.records);
    } catch (error) {
      if (!older) this.fresh = false;
      throw error;
    }
  }
}
