// The status bar: when the files were recorded last. A click records them now.

import * as vscode from "./editor.ts";
import { counted, titleOf, when } from "./moments.ts";
import type { Worktree } from "./worktree.ts";
import type { Worktrees } from "./worktrees.ts";

/** How long saving has to be over before the files are looked at. */
const QUIET_MS = 1_000;

interface Preview {
  changed?: number;
  id?: string;
}

export class StatusBar implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly worktrees: Worktrees;
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  /** What differed from the last point, and when that was looked at. */
  private readonly seen = new WeakMap<Worktree, { changed: number; at: string; last: string | undefined }>();

  constructor(worktrees: Worktrees) {
    this.worktrees = worktrees;
    this.item = vscode.window.createStatusBarItem("rewind", vscode.StatusBarAlignment.Left, 0);
    this.item.name = "Rewind";
    this.subscriptions = [
      this.item,
      worktrees.onDidChange(() => this.update()),
      vscode.window.onDidChangeActiveTextEditor(() => this.update()),
      vscode.workspace.onDidSaveTextDocument((d) => this.later(worktrees.of(d.uri))),
      vscode.window.onDidChangeWindowState(({ focused }) => focused && this.later(this.current())),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("rewind.statusBar") && this.update()),
    ];
    this.update();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const d of this.subscriptions) d.dispose();
  }

  private current(): Worktree | undefined {
    return this.worktrees.of(vscode.window.activeTextEditor?.document.uri) ?? this.worktrees.all[0];
  }

  /** Looks at the files of a worktree when nothing more happens for a while. */
  private later(worktree: Worktree | undefined): void {
    if (!worktree?.status?.recorded || !this.wanted()) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const last = worktree.status?.last;
      worktree.server.request<Preview>("preview").then((p) => {
        this.seen.set(worktree, { changed: p.changed ?? 0, at: new Date().toISOString(), last });
        this.update();
      }, () => {});
    }, QUIET_MS);
  }

  private wanted(): boolean {
    return vscode.workspace.getConfiguration("rewind").get("statusBar.enabled", true);
  }

  private update(): void {
    const worktree = this.current();
    if (!worktree || !this.wanted()) {
      this.item.hide();
      return;
    }
    const name = this.worktrees.all.length > 1 ? `${worktree.name}: ` : "";
    const { trouble, status } = worktree;
    if (trouble) this.say("$(warning)", `${name}rewind is off`, trouble.message, "rewind.timeline.focus");
    else if (!status) this.item.hide();
    else if (!status.recorded) this.say("$(history)", `${name}not recorded`, "Nothing of this folder is recorded yet. Click to record it now", "rewind.snapshot");
    else this.recorded(worktree, name);
  }

  private recorded(worktree: Worktree, name: string): void {
    const { status } = worktree;
    const seen = this.seen.get(worktree);
    const known = seen && seen.last === status?.last ? seen : undefined;
    const time = when(status?.recorded_time ?? "");
    const record = worktree.past.records.find((r) => r.id === status?.recorded);
    const lines = [`Last point: ${time}${record ? `, ${titleOf(record)}` : ""}`];
    if (known) lines.push(known.changed > 0 ? `At ${when(known.at)} ${counted(known.changed, "path")} differed from it` : `At ${when(known.at)} everything was recorded`);
    lines.push("Click to record now");
    const changed = known && known.changed > 0;
    this.say("$(history)", `${name}${time}${changed ? ` +${known.changed}` : ""}`, lines.join("\n"), "rewind.snapshot");
  }

  private say(icon: string, text: string, tooltip: string, command: string): void {
    this.item.text = `${icon} ${text}`;
    this.item.tooltip = tooltip;
    this.item.command = command;
    this.item.accessibilityInformation = { label: `Rewind, ${text.replace(/ \+(\d+)$/, ", $1 changed since")}. ${tooltip}`, role: "button" };
    this.item.show();
  }
}
