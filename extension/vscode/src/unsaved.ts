// Which files have text in an editor that is not on disk.

import * as vscode from "./editor.ts";
import type { Worktree } from "./worktree.ts";

/** Paths of a worktree that have unsaved text: documents, notebooks, and what editors of other kinds show. */
export function unsavedIn(worktree: Worktree): string[] {
  const uris = [
    ...vscode.workspace.textDocuments.filter((d) => d.isDirty).map((d) => d.uri),
    ...vscode.workspace.notebookDocuments.filter((d) => d.isDirty).map((d) => d.uri),
    ...vscode.window.tabGroups.all.flatMap((g) => g.tabs).filter((t) => t.isDirty).flatMap(urisOf),
  ];
  const names = uris.map((uri) => worktree.pathOf(uri)).filter((name) => name !== undefined);
  return [...new Set(names)].sort();
}

function urisOf(tab: vscode.Tab): vscode.Uri[] {
  const { input } = tab;
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook || input instanceof vscode.TabInputCustom) return [input.uri];
  if (input instanceof vscode.TabInputTextDiff || input instanceof vscode.TabInputNotebookDiff) return [input.original, input.modified];
  return [];
}
