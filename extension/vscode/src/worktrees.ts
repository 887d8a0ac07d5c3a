// The worktrees of the folders that are open.

import * as vscode from "./editor.ts";
import { covers, relativeTo } from "./place.ts";
import { type Surroundings, Worktree } from "./worktree.ts";

export class Worktrees implements vscode.Disposable {
  private list: Worktree[] = [];
  private readonly around: Surroundings;
  private readonly changed = new vscode.EventEmitter<Worktree | undefined>();
  /** One of them is different, or there are others. */
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(around: Surroundings) {
    this.around = around;
    this.subscriptions = [
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.open()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.open()),
    ];
    this.open();
  }

  get all(): readonly Worktree[] {
    return this.list;
  }

  /** The one to which a file belongs: of folders within each other, the inner one. */
  of(uri: vscode.Uri | undefined): Worktree | undefined {
    if (!uri) return undefined;
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const own = folder && this.list.find((w) => w.folder.uri.toString() === folder.uri.toString());
    return own ?? this.list.find((w) => w.pathOf(uri) !== undefined);
  }

  atRoot(root: string): Worktree | undefined {
    return this.list.find((w) => w.root === root);
  }

  /** Paths of a worktree that other folders of the workspace show: those within its own folder. */
  within(one: Worktree): string[] {
    const out: string[] = [];
    for (const other of this.list) {
      if (other === one) continue;
      const at = relativeTo({ root: one.root, folder: one.realFolder, real: one.realFolder }, other.realFolder);
      if (at !== undefined && at !== one.prefix && covers(one.prefix, at)) out.push(at);
    }
    return out;
  }

  /** The one that is meant: of the active editor, the only one, or the one that is chosen. */
  async choose(): Promise<Worktree | undefined> {
    const active = this.of(vscode.window.activeTextEditor?.document.uri);
    if (active || this.list.length <= 1) return active ?? this.list[0];
    const rows = this.list.map((worktree) => ({ label: worktree.name, description: worktree.folder.uri.fsPath, worktree }));
    return (await vscode.window.showQuickPick(rows, { title: "Which folder?" }))?.worktree;
  }

  dispose(): void {
    for (const d of [...this.subscriptions, ...this.list]) d.dispose();
    this.changed.dispose();
  }

  private open(): void {
    const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file") : [];
    const kept = this.list.filter((w) => folders.some((f) => f.uri.toString() === w.folder.uri.toString()));
    for (const gone of this.list.filter((w) => !kept.includes(w))) gone.dispose();
    this.list = folders.map((f) => kept.find((w) => w.folder.uri.toString() === f.uri.toString()) ?? this.start(f));
    this.changed.fire(undefined);
  }

  private start(folder: vscode.WorkspaceFolder): Worktree {
    const worktree = new Worktree(folder, this.around);
    worktree.onDidChange(() => this.changed.fire(worktree));
    setImmediate(() => void worktree.look()); // a process takes longer to begin than all else that the editor's start waits for
    return worktree;
  }
}
