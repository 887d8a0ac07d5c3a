// Differences in the editor's own editors: of one file, or of all that a row has.

import * as vscode from "./editor.ts";
import { say } from "./messages.ts";
import { counted } from "./moments.ts";
import { type FileNode, nameOf, type Node, type Span, spanOf } from "./nodes.ts";
import { literal, NOTHING } from "./place.ts";
import { type Change, filesOf } from "./records.ts";
import { changesOf } from "./timeline.ts";
import type { Worktree } from "./worktree.ts";

/** How many files one editor shows. */
const MOST = 200;

/** One side of a change: the file of a snapshot, the file on disk, or nothing. */
function side(worktree: Worktree, change: Change, id: string | undefined, there: boolean): vscode.Uri {
  if (!there) return worktree.snapshotUri(change, NOTHING);
  return id ? worktree.snapshotUri(change, id) : worktree.fileUri(change.path);
}

function sides(worktree: Worktree, change: Change, span: Span): [vscode.Uri, vscode.Uri] {
  const left = change.from && span.from ? side(worktree, { ...change, ...change.from }, span.from, true) : side(worktree, change, span.from, change.status !== "A" && span.from !== undefined);
  return [left, side(worktree, change, span.to, change.status !== "D")];
}

export async function openDiff(node: FileNode, options: vscode.TextDocumentShowOptions = {}): Promise<void> {
  const [left, right] = sides(node.worktree, node.change, node.span);
  const name = node.change.path.slice(node.change.path.lastIndexOf("/") + 1);
  const title = `${name} (${node.span.fromTitle} ↔ ${node.span.toTitle})${node.parent.kind === "now" ? "" : ` ${nameOf(node.parent)}`}`;
  await vscode.commands.executeCommand("vscode.diff", left, right, title, { preview: true, ...options });
}

/** The file as it is in the newer state of a row, or in the older one where it was deleted. */
export async function openFile(node: FileNode): Promise<void> {
  const { change, span, worktree } = node;
  const id = change.status === "D" ? span.from : span.to;
  await vscode.commands.executeCommand("vscode.open", id ? worktree.snapshotUri(change, id) : worktree.fileUri(change.path));
}

/** All that a row changed, in one editor. */
export async function openAll(worktree: Worktree, span: Span, title: string): Promise<void> {
  const paths = worktree.prefix ? [literal(worktree.prefix)] : [];
  const changes = filesOf(await changesOf(worktree, span, paths));
  await openChanges(worktree, span, title, changes);
}

export async function openChanges(worktree: Worktree, span: Span, title: string, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) {
    void say.info(`${title}: no file is different.`);
    return;
  }
  const rows = changes.slice(0, MOST).map((change) => {
    const [left, right] = sides(worktree, change, span);
    const label = change.status === "D" ? left : right;
    return [label.scheme === "file" ? label : worktree.fileUri(change.path), change.status === "A" && !change.from ? undefined : left, change.status === "D" ? undefined : right];
  });
  const more = changes.length > MOST ? ` (${MOST} of ${counted(changes.length, "file")})` : "";
  await vscode.commands.executeCommand("vscode.changes", `${title}${more}`, rows);
}

/** The state that a row stands for, compared with the files as they are. */
export function sinceThen(node: Node): Span | undefined {
  const span = spanOf(node);
  const id = span?.to ?? span?.from;
  return id ? { from: id, to: undefined, fromTitle: "then", toTitle: "now" } : undefined;
}
