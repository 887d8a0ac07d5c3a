// The extension: joins the parts to the editor.

import * as vscode from "vscode";
import { Commands } from "./commands.ts";
import { Documents } from "./documents.ts";
import { findProgram } from "./program.ts";
import { StatusBar } from "./statusbar.ts";
import { Timeline } from "./timeline.ts";
import { Worktrees } from "./worktrees.ts";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Rewind", { log: true });
  const told = new Set<string>();
  const worktrees = new Worktrees({
    program: () => findProgram(vscode.workspace.getConfiguration("rewind").get<string>("path")?.trim() || undefined),
    version: String((context.extension.packageJSON as { version?: unknown }).version),
    log: (message) => log.info(message),
    tell: (message) => {
      log.warn(message);
      if (told.has(message)) return;
      told.add(message);
      void vscode.window.showWarningMessage(`Rewind: ${message}`);
    },
  });
  const { subscription } = Documents.register(worktrees);
  const timeline = new Timeline(worktrees);
  context.subscriptions.push(
    log, worktrees, subscription, timeline, new StatusBar(worktrees), new Commands(worktrees, timeline).register(),
    vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("rewind.path") && void vscode.commands.executeCommand("rewind.refresh")),
  );
}
