// The gutter: what has changed in a file since the newest turn began, so that one
// sees what the agent has just done.

import type { Documents } from "./documents.ts";
import * as vscode from "./editor.ts";
import { lastTurn } from "./moments.ts";
import { LAST_TURN } from "./place.ts";
import type { Worktree } from "./worktree.ts";
import type { Worktrees } from "./worktrees.ts";

interface Shown {
  control: vscode.SourceControl;
  /** The documents that the editor compares with, by their paths. */
  given: Map<string, vscode.Uri>;
  base: string | undefined;
}

export class Gutter implements vscode.Disposable {
  private readonly worktrees: Worktrees;
  private readonly documents: Documents;
  private readonly shown = new Map<Worktree, Shown>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(worktrees: Worktrees, documents: Documents) {
    this.worktrees = worktrees;
    this.documents = documents;
    documents.lastTurn = (worktree) => this.base(worktree);
    this.subscriptions = [
      worktrees.onDidChange((worktree) => void this.update(worktree)),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("rewind.gutter") && void this.update(undefined)),
    ];
    void this.update(undefined);
  }

  dispose(): void {
    for (const d of this.subscriptions) d.dispose();
    for (const s of this.shown.values()) s.control.dispose();
  }

  private async update(worktree: Worktree | undefined): Promise<void> {
    const wanted = vscode.workspace.getConfiguration("rewind").get("gutter.enabled", true);
    for (const [one, shown] of this.shown) {
      if (wanted && this.worktrees.all.includes(one)) continue;
      shown.control.dispose();
      this.shown.delete(one);
    }
    if (!wanted) return;
    for (const one of worktree ? [worktree] : this.worktrees.all) await this.show(one);
  }

  /** A source control without any list: only so does the editor draw in the gutter. It is there once an agent has done something. */
  private async show(worktree: Worktree): Promise<void> {
    const base = await this.base(worktree);
    const shown = this.shown.get(worktree);
    if (shown && shown.base !== base) {
      shown.base = base;
      this.documents.tell([...shown.given.values()]);
    }
    if (shown || base === undefined || !this.worktrees.all.includes(worktree)) return;
    const control = vscode.scm.createSourceControl("rewind", "Rewind: since the last turn began", worktree.folder.uri);
    control.inputBox.visible = false;
    control.count = 0;
    this.shown.set(worktree, { control, given: new Map(), base });
    control.quickDiffProvider = { provideOriginalResource: (uri) => this.original(worktree, uri) };
  }

  private async original(worktree: Worktree, uri: vscode.Uri): Promise<vscode.Uri | undefined> {
    const path = this.worktrees.of(uri) === worktree ? worktree.pathOf(uri) : undefined;
    const base = await this.base(worktree);
    if (path === undefined || base === undefined || !(await this.documents.has(worktree, base, path))) return undefined;
    const original = worktree.snapshotUri({ path }, LAST_TURN);
    this.shown.get(worktree)?.given.set(path, original);
    return original;
  }

  /** The state before the newest turn. */
  private async base(worktree: Worktree): Promise<string | undefined> {
    if (!worktree.status?.recorded) return undefined;
    await worktree.past.load().catch(() => {});
    return lastTurn(worktree.past.entries)?.from;
  }
}
