// The extension: joins the parts to the editor.

import { Blame } from "./blame.ts";
import { Commands } from "./commands.ts";
import { Documents } from "./documents.ts";
import * as vscode from "./editor.ts";
import { Gutter } from "./gutter.ts";
import { say } from "./messages.ts";
import { findProgram } from "./program.ts";
import { StatusBar } from "./statusbar.ts";
import { Timeline } from "./timeline.ts";
import { Worktrees } from "./worktrees.ts";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Rewind", { log: true });
  const told = new Set<string>();
  const worktrees = new Worktrees({
    program: () => {
      const program = findProgram(vscode.workspace.getConfiguration("rewind").get<string>("path")?.trim() || undefined);
      log.info(`starting ${program}`);
      return program;
    },
    version: String((context.extension.packageJSON as { version?: unknown }).version),
    tell: (message) => {
      log.warn(message);
      if (told.has(message)) return;
      told.add(message);
      void say.warn(`Rewind: ${message}`);
    },
  });
  const { documents, subscription } = Documents.register(worktrees);
  const timeline = new Timeline(worktrees);
  context.subscriptions.push(
    log, worktrees, subscription, timeline, new StatusBar(worktrees), new Commands(worktrees, timeline).register(),
    new Blame(worktrees), new Gutter(worktrees, documents),
    vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("rewind.path") && void vscode.commands.executeCommand("rewind.refresh")),
  );
}
