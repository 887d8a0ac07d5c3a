// The commands of the palette, of menus and of keys.

import { openAll, openDiff, openFile, sinceThen } from "./diffs.ts";
import * as vscode from "./editor.ts";
import { say } from "./messages.ts";
import { counted, iconless, titleOf, turnOf, when } from "./moments.ts";
import { type FileNode, nameOf, type Node, type Span, spanOf } from "./nodes.ts";
import { literal } from "./place.ts";
import type { Recorded, SnapshotRecord } from "./records.ts";
import { carry, some } from "./restore.ts";
import type { Timeline } from "./timeline.ts";
import type { Worktree } from "./worktree.ts";
import type { Worktrees } from "./worktrees.ts";

/** What a menu gives: a row, or a file of the explorer or of an editor. */
type Target = Node | vscode.Uri | undefined;

export class Commands {
  private readonly worktrees: Worktrees;
  private readonly timeline: Timeline;

  constructor(worktrees: Worktrees, timeline: Timeline) {
    this.worktrees = worktrees;
    this.timeline = timeline;
  }

  register(): vscode.Disposable {
    const all: Record<string, (target?: Target, ...more: unknown[]) => unknown> = {
      "rewind.snapshot": (t) => this.snapshot(t, ""),
      "rewind.snapshotLabelled": (t) => this.labelled(t),
      "rewind.refresh": () => this.refresh(),
      "rewind.loadOlder": (t) => this.older(t),
      "rewind.filter": () => this.filter(),
      "rewind.clearFilter": () => this.timeline.show(undefined),
      "rewind.onlyThisFile": (t) => this.onlyThis(t),
      "rewind.openDiff": (t) => openDiff(fileRow(t)),
      "rewind.openFile": (t) => openFile(fileRow(t)),
      "rewind.openWorktreeFile": (t) => openWorktreeFile(fileRow(t)),
      "rewind.openChanges": (t) => this.changes(row(t), false),
      "rewind.openTurn": (root, id) => this.turnOfLine(String(root), String(id)),
      "rewind.openChangesNow": (t) => this.changes(row(t), true),
      "rewind.restoreBefore": (t) => this.restore(row(t), "from"),
      "rewind.restoreAfter": (t) => this.restore(row(t), "to"),
      "rewind.restoreFrom": (t) => this.restoreFrom(t),
      "rewind.revert": (t) => this.revert(row(t)),
      "rewind.undo": (t) => this.step(t, "undo"),
      "rewind.redo": (t) => this.step(t, "redo"),
      "rewind.copyId": (t) => this.copyId(row(t)),
    };
    return vscode.Disposable.from(...Object.entries(all).map(([name, run]) => vscode.commands.registerCommand(name, (...args: unknown[]) => told(() => run(...(args as [Target]))))));
  }

  private async snapshot(target: Target, label: string): Promise<void> {
    const worktree = await this.worktree(target);
    if (!worktree) return;
    const params = label ? { label } : {};
    const done = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: "Recording" }, () => worktree.server.request<Recorded>("snapshot", params));
    worktree.refresh();
    await worktree.look();
    const what = done.reused ? "recorded already" : done.changed === undefined ? "recorded" : `${counted(done.changed, "changed path")} recorded`;
    vscode.window.setStatusBarMessage(`$(check) Rewind: ${what}`, 5_000);
    if (done.unexpected.length > 0) void say.warn(`Rewind: recorded, without ${some(done.unexpected.map((n) => `${n.path} (${n.reason})`))}.`);
  }

  private async labelled(target: Target): Promise<void> {
    const label = await vscode.window.showInputBox({ title: "Record with a label", prompt: "By which words will you find this state?", validateInput: (text) => (text.trim() ? undefined : "A label has words") });
    if (label?.trim()) await this.snapshot(target, label.trim());
  }

  private async refresh(): Promise<void> {
    for (const w of this.worktrees.all) {
      w.server.retry();
      w.refresh();
      await w.look();
    }
  }

  private async older(target: Target): Promise<void> {
    const worktree = await this.worktree(target);
    await worktree?.past.older();
    this.timeline.refresh();
  }

  private async filter(): Promise<void> {
    const text = await vscode.window.showInputBox({ title: "Filter the timeline", prompt: "Words of prompts, labels, agents, branches, pins or ids; nothing shows all" });
    if (text === undefined) return;
    const words = text.split(/\s+/).filter(Boolean);
    this.timeline.show(words.length > 0 ? { words, title: `“${words.join(" ")}”` } : undefined);
    await vscode.commands.executeCommand("rewind.timeline.focus");
  }

  private async onlyThis(target: Target): Promise<void> {
    const at = this.fileOf(target);
    if (!at) throw new Error("Open a file of the folder first");
    this.timeline.show({ paths: [literal(at.path)], title: `only ${at.path}` });
    await vscode.commands.executeCommand("rewind.timeline.focus");
  }

  private async changes(node: Node, now: boolean): Promise<void> {
    const span = now ? sinceThen(node) : spanOf(node);
    if (span) await openAll(node.worktree, span, now ? `${nameOf(node)}: then ↔ now` : nameOf(node));
  }

  /** What the turn changed that brought a line; of no turn, what the snapshot did. */
  private async turnOfLine(root: string, id: string): Promise<void> {
    const worktree = this.worktrees.atRoot(root);
    if (!worktree) return;
    const { past } = worktree;
    await past.load();
    while (!past.records.some((r) => r.id === id) && past.more) await past.older();
    const turn = turnOf(past.entries, id);
    const record = past.records.find((r) => r.id === id);
    const node: Node | undefined = turn ? { kind: "turn", worktree, turn } : record && { kind: "single", worktree, single: { kind: "single", key: id, record, title: titleOf(record), time: record.time } };
    if (!node) throw new Error(`The snapshot ${id.slice(0, 12)} is gone`);
    await this.changes(node, false);
  }

  private async restore(node: Node, which: "from" | "to"): Promise<void> {
    const id = spanOf(node)?.[which];
    if (!id) throw new Error("There is no state to restore: nothing was recorded before it");
    const parent = node.kind === "file" ? node.parent : node;
    const where = which === "from" ? "before" : "after";
    const title = `Restore ${node.kind === "file" ? some([node.change.path]) : "files"} to ${parent.kind === "now" ? "the last point" : parent.kind === "single" && which === "to" ? nameOf(parent) : `${where} ${nameOf(parent)}`}`;
    const paths = node.kind === "file" ? pathsOf(node) : undefined;
    await carry(this.worktrees, { worktree: node.worktree, title, plan: "plan", act: "restore", params: { id }, ...(paths ? { paths } : {}) });
  }

  /** A file or folder of the explorer, to what a snapshot has, which is chosen among those that changed it. */
  private async restoreFrom(target: Target): Promise<void> {
    const at = this.fileOf(target);
    if (!at) throw new Error("Open a file of the folder first");
    const { worktree, path } = at;
    const { snapshots } = await worktree.server.request<{ snapshots: SnapshotRecord[] }>("list", { paths: path ? [literal(path)] : [], limit: 256 });
    const rows = snapshots.map((record) => ({ label: `$(git-commit) ${iconless(titleOf(record))}`, description: when(record.time), detail: record.id.slice(0, 12), record }));
    if (rows.length === 0) throw new Error(`No snapshot has ${path}`);
    const choice = await vscode.window.showQuickPick(rows, { title: `Restore ${path || worktree.name} to what it was at`, matchOnDescription: true });
    if (!choice) return;
    await carry(this.worktrees, { worktree, title: `Restore ${path || worktree.name} to ${titleOf(choice.record)}`, plan: "plan", act: "restore", params: { id: choice.record.id }, ...(path ? { paths: [literal(path)] } : {}) });
  }

  private async revert(node: Node): Promise<void> {
    const span = spanOf(node);
    if (!span?.from || !span.to) throw new Error("Its beginning or its end is not recorded, so that it cannot be taken back alone");
    const parent = node.kind === "file" ? node.parent : node;
    const ids = [span.from === span.to ? span.to : `${span.from}..${span.to}`];
    const paths = node.kind === "file" ? pathsOf(node) : undefined;
    await carry(this.worktrees, { worktree: node.worktree, title: `Take back ${nameOf(parent)}${node.kind === "file" ? ` in ${some([node.change.path])}` : ""}`, plan: "planRevert", act: "revert", params: { ids }, ...(paths ? { paths } : {}) });
  }

  private async step(target: Target, act: "undo" | "redo"): Promise<void> {
    const worktree = await this.worktree(target);
    if (!worktree) return;
    const title = act === "undo" ? "Undo the last restore" : "Redo the last undo";
    await carry(this.worktrees, { worktree, title, plan: act === "undo" ? "planUndo" : "planRedo", act, params: {} });
  }

  private async copyId(node: Node): Promise<void> {
    const span = spanOf(node);
    const id = span?.to ?? span?.from;
    if (id) await vscode.env.clipboard.writeText(id);
  }

  private async worktree(target: Target): Promise<Worktree | undefined> {
    if (isNode(target)) return target.worktree;
    if (target instanceof vscode.Uri) return this.worktrees.of(target);
    const worktree = await this.worktrees.choose();
    if (!worktree && this.worktrees.all.length === 0) throw new Error(vscode.workspace.isTrusted ? "No folder is open" : "The folder is not trusted");
    return worktree;
  }

  private fileOf(target: Target): { worktree: Worktree; path: string } | undefined {
    if (isFile(target)) return { worktree: target.worktree, path: target.change.path };
    const uri = target instanceof vscode.Uri ? target : openUri();
    const worktree = this.worktrees.of(uri);
    const path = uri && worktree?.pathOf(uri);
    return worktree && path !== undefined ? { worktree, path } : undefined;
  }
}

/** Of a file that was renamed, the old name too. */
function pathsOf(node: FileNode): string[] {
  const { change } = node;
  if (change.path_b64 || change.from?.path_b64) throw new Error(`The name of ${change.path} is not UTF-8: restore its folder, or all`);
  return [literal(change.path), ...(change.from ? [literal(change.from.path)] : [])];
}

function isNode(target: unknown): target is Node {
  return typeof target === "object" && target !== null && "kind" in target && "worktree" in target;
}

/** What the active tab shows. It is there before its text is, and a picture has none. */
function openUri(): vscode.Uri | undefined {
  const shown = vscode.window.tabGroups.activeTabGroup.activeTab?.input as { uri?: unknown } | undefined;
  return shown?.uri instanceof vscode.Uri ? shown.uri : vscode.window.activeTextEditor?.document.uri;
}

function isFile(target: unknown): target is FileNode {
  return isNode(target) && target.kind === "file";
}

/** The row of a menu. The editor forgets its rows when they are to be shown anew, and then does not say which was meant. */
function row(target: Target): Node {
  if (!isNode(target)) throw new Error("The rows were just being shown anew: choose once more");
  return target;
}

function fileRow(target: Target): FileNode {
  const node = row(target);
  if (!isFile(node)) throw new Error("This is for the row of a file");
  return node;
}

function openWorktreeFile(node: FileNode): Thenable<unknown> {
  return vscode.commands.executeCommand("vscode.open", node.worktree.fileUri(node.change.path));
}

/** Runs a command; what goes wrong is one message. */
async function told(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    void say.error(`Rewind: ${(error as Error).message}`);
  }
}

export type { Span };
