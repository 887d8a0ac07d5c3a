// Who wrote a line: the prompt at the end of the current line, and when the
// pointer rests on one. Only where somebody has asked for it.

import * as vscode from "./editor.ts";
import { lineText, type LineText } from "./lines.ts";
import type { Blame as Answer } from "./records.ts";
import type { Worktree } from "./worktree.ts";
import type { Worktrees } from "./worktrees.ts";

/** How long the cursor has to rest. */
const QUIET_MS = 30;
/** How many files are remembered. */
const KEPT = 16;

interface Known {
  version: number;
  last: string | undefined;
  answer: Promise<Answer | undefined>;
}

export class Blame implements vscode.HoverProvider, vscode.Disposable {
  private readonly worktrees: Worktrees;
  private readonly known = new Map<string, Known>();
  private readonly subscriptions: vscode.Disposable[];
  private active: vscode.Disposable | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly look = vscode.window.createTextEditorDecorationType({
    after: { margin: "0 0 0 3em", color: new vscode.ThemeColor("editorCodeLens.foreground"), fontStyle: "italic" },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
  });

  constructor(worktrees: Worktrees) {
    this.worktrees = worktrees;
    this.subscriptions = [
      this.look,
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("rewind.blame") && this.turn()),
      vscode.commands.registerCommand("rewind.toggleBlame", () => settings().update("blame.enabled", !enabled(), vscode.ConfigurationTarget.Global)),
    ];
    this.turn();
  }

  async provideHover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    const line = await this.line(document, position.line);
    const worktree = this.worktrees.of(document.uri);
    if (!line || !worktree) return undefined;
    const text = new vscode.MarkdownString(undefined, true);
    text.isTrusted = { enabledCommands: ["rewind.openTurn"] };
    text.appendMarkdown("$(history) ").appendText(line.title).appendMarkdown("\n\n").appendText(line.facts);
    if (line.id) text.appendMarkdown(`\n\n[$(diff-multiple) What it changed](command:rewind.openTurn?${encodeURIComponent(JSON.stringify([worktree.root, line.id]))})`);
    return new vscode.Hover(text, document.lineAt(position.line).range);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const d of [...this.subscriptions, this.active]) d?.dispose();
  }

  /** Listens to the editor only while it is wanted. */
  private turn(): void {
    this.active?.dispose();
    this.active = undefined;
    this.known.clear();
    for (const editor of vscode.window.visibleTextEditors) editor.setDecorations(this.look, []);
    if (!enabled()) return;
    this.active = vscode.Disposable.from(
      vscode.languages.registerHoverProvider({ scheme: "file" }, this),
      vscode.window.onDidChangeTextEditorSelection((e) => this.later(e.textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.later(editor)),
      vscode.workspace.onDidSaveTextDocument(() => this.later(vscode.window.activeTextEditor)),
      vscode.workspace.onDidCloseTextDocument((d) => void this.known.delete(d.uri.toString())),
      this.worktrees.onDidChange(() => this.later(vscode.window.activeTextEditor)),
    );
    this.later(vscode.window.activeTextEditor);
  }

  private later(editor: vscode.TextEditor | undefined): void {
    clearTimeout(this.timer);
    if (!editor || editor.document.uri.scheme !== "file") return;
    this.timer = setTimeout(() => void this.show(editor), QUIET_MS);
  }

  private async show(editor: vscode.TextEditor): Promise<void> {
    const at = editor.selection.active.line;
    const line = await this.line(editor.document, at);
    if (vscode.window.activeTextEditor !== editor || editor.selection.active.line !== at) return;
    const range = editor.document.lineAt(at).range;
    editor.setDecorations(this.look, line ? [{ range, renderOptions: { after: { contentText: line.short } } }] : []);
  }

  /** What is known of a line. Of a document that is not saved nothing is: its lines are not those of the file. */
  private async line(document: vscode.TextDocument, at: number): Promise<LineText | undefined> {
    if (document.isDirty) return undefined;
    const worktree = this.worktrees.of(document.uri);
    const path = worktree?.pathOf(document.uri);
    if (!worktree || path === undefined) return undefined;
    const { version } = document;
    const answer = await this.ask(worktree, document, path);
    if (document.version !== version || document.isDirty) return undefined;
    return answer && lineText(answer, at + 1, document.lineAt(at).text);
  }

  private ask(worktree: Worktree, document: vscode.TextDocument, path: string): Promise<Answer | undefined> {
    const key = document.uri.toString();
    const { last } = worktree.status ?? {};
    const known = this.known.get(key);
    if (known && known.version === document.version && known.last === last) return known.answer;
    const answer = worktree.server.request<Answer>("blame", { path }).catch(() => undefined); // a binary file, or one of which nothing is recorded
    this.known.delete(key);
    this.known.set(key, { version: document.version, last, answer });
    const oldest = this.known.keys().next();
    if (this.known.size > KEPT && !oldest.done) this.known.delete(oldest.value);
    return answer;
  }
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("rewind");
}

function enabled(): boolean {
  return settings().get("blame.enabled", false);
}
