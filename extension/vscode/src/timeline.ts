// The timeline: sessions, their prompts, what each changed. Nothing is asked for
// before it is shown.

import * as vscode from "./editor.ts";
import type { Filter } from "./history.ts";
import { counted, type Entry, type Single, type Turn } from "./moments.ts";
import { itemOf, type Node, type Span, spanOf } from "./nodes.ts";
import { literal } from "./place.ts";
import { type Change, filesOf } from "./records.ts";
import type { Worktree } from "./worktree.ts";
import type { Worktrees } from "./worktrees.ts";

/** How many files of a row are listed. */
const MOST_FILES = 500;
/** Up to how many files their lines are counted. */
const MOST_COUNTED = 200;
const TOGETHER_MS = 50;

export class Timeline implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Node>;
  private readonly worktrees: Worktrees;
  private readonly subscriptions: vscode.Disposable[];
  private filter: Filter | undefined;
  /** Rows that are shown, by their ids: the editor takes a row for the same only if it is the same object. */
  private readonly known = new Map<string, Node>();
  private stale = false;
  /** Questions of the editor that are not answered yet. */
  private asked = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(worktrees: Worktrees) {
    this.worktrees = worktrees;
    this.view = vscode.window.createTreeView("rewind.timeline", { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions = [
      this.view,
      worktrees.onDidChange(() => this.refresh()),
      this.view.onDidChangeVisibility(({ visible }) => visible && this.stale && this.later()),
      vscode.workspace.onDidSaveTextDocument(() => this.later()),
    ];
    void this.say();
  }

  refresh(): void {
    void this.say();
    this.later();
  }

  /** Shows the rows anew, once for what comes together, and when they can be seen. */
  private later(): void {
    this.stale = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.renew(), TOGETHER_MS);
  }

  /**
   * The editor drops the answer to a question that is open meanwhile, and then shows a row as if nothing were below it: so
   * it waits for the answer. And it knows no row from here until it has all of them again: so they are read beforehand.
   */
  private async renew(): Promise<void> {
    if (!this.view.visible) return;
    await Promise.allSettled(this.worktrees.all.map((worktree) => worktree.past.load()));
    if (!this.stale || !this.view.visible || this.asked > 0) return;
    this.stale = false;
    this.changed.fire(undefined);
  }

  /** Shows only some snapshots; undefined: all. */
  show(filter: Filter | undefined): void {
    this.filter = filter;
    this.known.clear();
    this.view.description = filter?.title ?? "";
    void vscode.commands.executeCommand("setContext", "rewind.filtered", filter !== undefined);
    this.later();
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return itemOf(node);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    this.asked++;
    try {
      return (await this.children(node)).map((n) => this.same(n));
    } finally {
      if (--this.asked === 0 && this.stale) this.later();
    }
  }

  /** The row that is shown already in place of one that is equal to it. */
  private same(node: Node): Node {
    const id = itemOf(node).id;
    if (!id) return node;
    const shown = this.known.get(id);
    if (shown) return Object.assign(shown, node);
    this.known.set(id, node);
    return node;
  }

  private async children(node?: Node): Promise<Node[]> {
    if (!node) {
      const all = this.worktrees.all;
      const first = all[0];
      if (all.length > 1) return all.map((worktree) => ({ kind: "folder", worktree }));
      return first ? this.top(first, true) : [];
    }
    const { worktree } = node;
    switch (node.kind) {
      case "folder": return this.top(worktree, false);
      case "session": return node.session.entries.map((e) => entryNode(worktree, e));
      case "turn": {
        const files = await this.files(node);
        return node.turn.steps.length > 1 ? [...files, { kind: "steps", worktree, turn: node.turn }] : files;
      }
      case "steps": return node.turn.steps.map((record) => ({ kind: "single", worktree, single: { kind: "single", key: `step\0${record.id}`, record, title: record.points.findLast((p) => p.trigger)?.trigger ?? "step", time: record.time } }));
      case "now": case "single": return this.files(node);
      default: return [];
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const d of this.subscriptions) d.dispose();
    this.changed.dispose();
  }

  /** The rows of a worktree. Without any the welcome view says what to do. */
  private async top(worktree: Worktree, alone: boolean): Promise<Node[]> {
    let entries: Entry[];
    try {
      entries = this.filter ? await worktree.past.matching(this.filter) : await worktree.past.load().then(() => worktree.past.entries);
    } catch (error) {
      return alone && worktree.trouble ? [] : [{ kind: "note", worktree, text: (error as Error).message }];
    }
    if (entries.length === 0) {
      if (this.filter) return [{ kind: "note", worktree, text: "No snapshot matches", command: { command: "rewind.clearFilter", title: "Clear Filter" } }];
      return alone ? [] : [{ kind: "note", worktree, text: "Nothing is recorded yet: record now", command: { command: "rewind.snapshot", title: "Record Now", arguments: [{ kind: "folder", worktree }] } }];
    }
    const rows: Node[] = entries.map((e, i) => entryNode(worktree, e, i === 0));
    if (!this.filter) rows.unshift({ kind: "now", worktree });
    if (!this.filter && worktree.past.more) rows.push({ kind: "more", worktree });
    return rows;
  }

  /** The files that differ between the two states of a row. */
  private async files(node: Node): Promise<Node[]> {
    const { worktree } = node;
    const span = spanOf(node);
    if (!span) return [];
    let changes: Change[];
    try {
      changes = filesOf(await changesOf(worktree, span, this.paths(worktree)));
    } catch (error) {
      return [{ kind: "note", worktree, text: (error as Error).message }];
    }
    const rows = changes.slice(0, MOST_FILES).map((change): Node => ({ kind: "file", worktree, parent: node, span, change }));
    if (changes.length > MOST_FILES) rows.push({ kind: "note", worktree, text: `and ${counted(changes.length - MOST_FILES, "file")} more` });
    if (rows.length === 0) rows.push({ kind: "note", worktree, text: node.kind === "now" ? "Everything is recorded" : "No file changed" });
    return rows;
  }

  /** Within which paths files are listed: the folder that is open, and what the filter says. */
  private paths(worktree: Worktree): string[] {
    if (this.filter?.paths) return this.filter.paths;
    return worktree.prefix ? [literal(worktree.prefix)] : [];
  }

  /** What the welcome view goes by, and the line above the rows. */
  private async say(): Promise<void> {
    const [first] = this.worktrees.all;
    const several = this.worktrees.all.length > 1;
    const state = !vscode.workspace.isTrusted ? "untrusted" : !first ? "none" : several ? "rows" : (first.trouble?.kind ?? (first.status ? "rows" : "starting"));
    this.view.message = state === "refused" ? (first?.trouble?.message ?? "") : "";
    await vscode.commands.executeCommand("setContext", "rewind.state", state);
  }
}

function entryNode(worktree: Worktree, entry: Entry | Turn | Single, open = false): Node {
  if (entry.kind === "session") return { kind: "session", worktree, session: entry, open };
  if (entry.kind === "turn") return { kind: "turn", worktree, turn: entry };
  return { kind: "single", worktree, single: entry };
}

/** What differs between two states, with the lines where they are not too many. */
export async function changesOf(worktree: Worktree, span: Span, paths: string[] = []): Promise<Change[]> {
  const { from, to } = span;
  if (!from && to) return (await worktree.server.request<{ changes: Change[] }>("show", { id: to })).changes;
  const params = { ...(from ? { from } : {}), ...(to ? { to } : {}), ...(paths.length > 0 ? { paths } : {}) };
  try {
    const { changes } = await worktree.server.request<{ changes: Change[] }>("diff", params);
    if (changes.length === 0 || changes.length > MOST_COUNTED) return changes;
    return (await worktree.server.request<{ changes: Change[] }>("diff", { ...params, format: "stat" })).changes;
  } catch (error) {
    if ((error as { code?: number }).code === 3 && paths.length > 0) return []; // the path is in neither
    throw error;
  }
}
