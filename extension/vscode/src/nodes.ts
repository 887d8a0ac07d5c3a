// The rows of the timeline, and how each looks.

import * as vscode from "./editor.ts";
import { counted, countsOf, type Entry, linesOf, oneLine, type Session, type Single, type Turn, when } from "./moments.ts";
import type { Change, SnapshotRecord } from "./records.ts";
import type { Worktree } from "./worktree.ts";

/** Two states that are compared: from undefined, nothing was before; to undefined, the present. */
export interface Span {
  from: string | undefined;
  to: string | undefined;
  fromTitle: string;
  toTitle: string;
}

export type Node =
  | { kind: "folder"; worktree: Worktree }
  | { kind: "now"; worktree: Worktree }
  | { kind: "session"; worktree: Worktree; session: Session; open: boolean }
  | { kind: "turn"; worktree: Worktree; turn: Turn }
  | { kind: "single"; worktree: Worktree; single: Single }
  | { kind: "steps"; worktree: Worktree; turn: Turn }
  | { kind: "file"; worktree: Worktree; parent: Node; span: Span; change: Change }
  | { kind: "more"; worktree: Worktree }
  | { kind: "note"; worktree: Worktree; text: string; command?: vscode.Command };

export type FileNode = Extract<Node, { kind: "file" }>;

/** What a row is about; undefined: it stands for no two states. */
export function spanOf(node: Node): Span | undefined {
  switch (node.kind) {
    case "now": return { from: node.worktree.status?.here ?? node.worktree.past.records.find((r) => r.here)?.id ?? "@", to: undefined, fromTitle: "last point", toTitle: "now" };
    case "turn": return { from: node.turn.from, to: node.turn.to, fromTitle: "before", toTitle: node.turn.to ? "after" : "now" };
    case "single": {
      const { record } = node.single;
      return { from: record.changed?.base, to: record.id, fromTitle: "before", toTitle: when(record.time) };
    }
    case "file": return node.span;
    default: return undefined;
  }
}

/** What a row is called where it stands alone, as in the title of an editor. */
export function nameOf(node: Node): string {
  switch (node.kind) {
    case "now": return "Since the last point";
    case "turn": return node.turn.prompt ? `“${oneLine(node.turn.prompt, 60)}”` : `Turn of ${when(node.turn.time)}`;
    case "single": return oneLine(node.single.title, 60);
    case "session": return oneLine(node.session.title, 60);
    case "file": return node.change.path;
    default: return "";
  }
}

const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;

/** How a row looks. */
export function itemOf(node: Node): vscode.TreeItem {
  switch (node.kind) {
    case "folder": return made(node.worktree.name, Expanded, { id: `folder ${key(node)}`, contextValue: "folder", iconPath: vscode.ThemeIcon.Folder, tooltip: node.worktree.folder.uri.fsPath, spoken: `Folder ${node.worktree.name}` });
    case "now": return made("Since the last point", Collapsed, { id: `now ${key(node)}`, contextValue: "now", iconPath: icon("edit"), description: "", tooltip: "What has changed since the files were recorded or restored last", spoken: "What has changed since the last point" });
    case "session": return sessionItem(node.worktree, node.session, node.open);
    case "turn": return turnItem(node.worktree, node.turn);
    case "single": return singleItem(node.worktree, node.single);
    case "steps": return made(counted(node.turn.steps.length, "step"), Collapsed, { id: `steps ${key(node)} ${node.turn.key}`, contextValue: "steps", iconPath: icon("list-ordered"), spoken: `${counted(node.turn.steps.length, "step")} of this turn` });
    case "file": return fileItem(node);
    case "more": return made("Load older snapshots", None, { id: `more ${key(node)}`, contextValue: "more", iconPath: icon("ellipsis"), command: { command: "rewind.loadOlder", title: "Load older snapshots", arguments: [node] }, spoken: "Load older snapshots" });
    case "note": return made(node.text, None, { contextValue: "note", iconPath: icon("info"), spoken: node.text, ...(node.command ? { command: node.command } : {}) });
  }
}

type Looks = Partial<vscode.TreeItem> & { spoken: string };

function made(label: string, state: vscode.TreeItemCollapsibleState, looks: Looks): vscode.TreeItem {
  const { spoken, ...rest } = looks;
  return Object.assign(new vscode.TreeItem(label, state), rest, { accessibilityInformation: { label: spoken } });
}

function icon(name: string, colour?: string): vscode.ThemeIcon {
  return new vscode.ThemeIcon(name, colour ? new vscode.ThemeColor(colour) : undefined);
}

function key(node: { worktree: Worktree }): string {
  return node.worktree.folder.uri.toString();
}

function sessionItem(worktree: Worktree, session: Session, open: boolean): vscode.TreeItem {
  const turns = session.entries.filter((e) => e.kind === "turn").length;
  const here = session.entries.some(isHere);
  const description = [session.agent, counted(turns, "prompt"), when(session.time), here ? "← files are here" : ""].filter(Boolean).join(" · ");
  return made(oneLine(session.title), open ? Expanded : Collapsed, {
    id: `${key({ worktree })} ${session.key}`, contextValue: "session", iconPath: icon("comment-discussion"), description,
    tooltip: `Session ${session.id}${session.agent ? ` of ${oneLine(session.agent)}` : ""}`,
    spoken: `Session ${oneLine(session.title)}, ${counted(turns, "prompt")}, ${when(session.time)}`,
  });
}

export function isHere(entry: Entry | Turn | Single): boolean {
  if (entry.kind === "turn") return entry.steps.some((s) => s.here);
  if (entry.kind === "single") return entry.record.here ?? false;
  return false;
}

/** What a turn changed, where one snapshot says it. */
function turnCounts(worktree: Worktree, turn: Turn): string {
  const [only, ...others] = turn.steps;
  if (!only) return turn.to ? "" : "under way";
  if (others.length > 0 || only.changed?.base !== turn.from) return turn.steps.length > 1 ? counted(turn.steps.length, "step") : "";
  return inAll(worktree, countsOf(only));
}

/** A folder within a worktree shows only its own files; what is counted is all of them. */
function inAll(worktree: Worktree, counts: string): string {
  return counts && worktree.prefix ? `${counts} in all` : counts;
}

function turnItem(worktree: Worktree, turn: Turn): vscode.TreeItem {
  const here = isHere(turn);
  const counts = turnCounts(worktree, turn);
  const label = turn.prompt || "(no prompt recorded)";
  const description = [counts, when(turn.time), here ? "← files are here" : ""].filter(Boolean).join(" · ");
  return made(label, Collapsed, {
    id: `${key({ worktree })} turn ${turn.key}`, contextValue: turn.from && turn.to ? "turn" : turn.from ? "turn-open" : "turn-first",
    iconPath: here ? icon("circle-filled", "charts.green") : icon("comment"), description, tooltip: turnTip(turn),
    spoken: `Prompt ${label}, ${description}`,
  });
}

function turnTip(turn: Turn): vscode.MarkdownString {
  const tip = new vscode.MarkdownString();
  tip.appendText(turn.prompt || "No prompt was recorded");
  const facts = [turn.agent, when(turn.time), turn.to ? turn.to.slice(0, 12) : "under way"].filter(Boolean).join(" · ");
  tip.appendMarkdown("\n\n").appendText(facts);
  return tip;
}

function singleItem(worktree: Worktree, single: Single): vscode.TreeItem {
  const { record } = single;
  const here = record.here ?? false;
  const description = [inAll(worktree, countsOf(record)), record.pins?.length ? `[${record.pins.join(", ")}]` : "", when(record.time), here ? "← files are here" : "", record.lost ? "damaged" : ""].filter(Boolean).join(" · ");
  return made(single.title, Collapsed, {
    id: `${key({ worktree })} ${single.key}`, contextValue: record.changed?.base ? "single" : "single-first",
    iconPath: here ? icon("circle-filled", "charts.green") : icon(singleIcon(record)), description,
    tooltip: `${record.id.slice(0, 12)}${record.branch ? ` on ${oneLine(record.branch.replace(/^refs\/heads\//, ""))}` : ""}${record.lost ? `\n${record.lost}` : ""}`,
    spoken: `Snapshot ${single.title}, ${description}`,
  });
}

function singleIcon(record: SnapshotRecord): string {
  if (record.of_restore) return "discard";
  if (record.pins?.length) return "pinned";
  return record.label ? "bookmark" : "git-commit";
}

const STATUS: Readonly<Record<Change["status"], string>> = { A: "added", D: "deleted", M: "modified", T: "of another kind" };

function fileItem(node: FileNode): vscode.TreeItem {
  const { change, worktree } = node;
  const slash = change.path.lastIndexOf("/");
  const base = oneLine(change.path.slice(slash + 1)) || "(a name of spaces)";
  const dir = slash < 0 ? "" : oneLine(change.path.slice(0, slash));
  const lines = change.binary ? "binary" : linesOf(change.added, change.removed).trim();
  const from = change.from ? `was ${oneLine(change.from.path)}` : "";
  const item = made(base, None, {
    contextValue: change.path_b64 ? "file-odd" : "file",
    resourceUri: worktree.snapshotUri(change, node.span.to ?? "now", change.status),
    iconPath: vscode.ThemeIcon.File, description: [dir, lines, from].filter(Boolean).join(" · "), tooltip: `${oneLine(change.path, 1000)}: ${STATUS[change.status]}`,
    command: { command: "rewind.openDiff", title: "Open Diff", arguments: [node] },
    spoken: `${oneLine(change.path)}, ${STATUS[change.status]}${lines ? `, ${lines}` : ""}`,
  });
  item.label = base;
  return item;
}
