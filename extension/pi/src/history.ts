// The points of a session as a list to choose from, newest first.

import type { Change, SnapshotRecord } from "./protocol.ts";

/** An entry of the session, as far as a list of points shows it. */
export interface HistoryEntry {
  id: string;
  parentId: string | null;
  type: string;
  timestamp: string;
  message?: unknown;
  summary?: unknown;
}

export interface Row {
  snapshot: string;
  /** Entry to navigate to; absent for a point that belongs to no entry. */
  entry?: string;
  label: string;
  time: Date;
  /** Whether the entry lies on another branch of the conversation. */
  aside: boolean;
  /** Snapshot of the point before on the same branch, to count what changed. */
  before?: string;
}

const PROMPT_CHARS = 60;
const DETAIL_CHARS = 40;

interface Block {
  type?: unknown;
  text?: unknown;
  name?: unknown;
  arguments?: unknown;
}

/** Makes the rows of all bound entries and of the snapshots that belong to no entry. */
export function rows(entries: readonly HistoryEntry[], bound: ReadonlyMap<string, string>, branch: ReadonlySet<string>, records: readonly SnapshotRecord[]): Row[] {
  const byId = new Map(entries.map((e) => [e.id, e]));
  const list: Row[] = [];
  for (const entry of entries) {
    const snapshot = bound.get(entry.id);
    if (snapshot === undefined) continue;
    const row: Row = { snapshot, entry: entry.id, label: describe(entry, byId), time: new Date(entry.timestamp), aside: !branch.has(entry.id) };
    const before = ancestor(entry, byId, (e) => bound.has(e.id));
    if (before) row.before = bound.get(before.id) as string;
    list.push(row);
  }
  list.push(...apart(records));
  return list.sort((a, b) => b.time.getTime() - a.time.getTime());
}

/** Rows of checkpoints and of the start of the session. */
function apart(records: readonly SnapshotRecord[]): Row[] {
  const list: Row[] = [];
  for (const record of records) {
    for (const point of record.points) {
      const label = point.label ? `★ ${oneLine(point.label)}` : point.trigger === "resume" ? "Session start" : undefined;
      if (label) list.push({ snapshot: record.id, label, time: new Date(point.time), aside: false });
    }
  }
  return list;
}

/** Says in a line what an entry is: `"prompt" → tools`. */
export function describe(entry: HistoryEntry, byId: ReadonlyMap<string, HistoryEntry>): string {
  if (entry.type === "compaction") return "(compaction)";
  if (entry.type === "branch_summary") return "(branch summary)";
  const prompt = roleOf(entry) === "user" ? entry : ancestor(entry, byId, (e) => roleOf(e) === "user");
  const quoted = prompt ? `"${cut(textOf(prompt), PROMPT_CHARS)}"` : "";
  if (prompt === entry) return quoted;
  const tools = toolsOf(entry).join(", ") || cut(textOf(entry), DETAIL_CHARS) || entry.type;
  return quoted ? `${quoted} → ${tools}` : `→ ${tools}`;
}

function ancestor(entry: HistoryEntry, byId: ReadonlyMap<string, HistoryEntry>, is: (e: HistoryEntry) => boolean): HistoryEntry | undefined {
  const seen = new Set([entry.id]);
  for (let at = entry.parentId; at !== null && !seen.has(at); ) {
    seen.add(at);
    const parent = byId.get(at);
    if (!parent) return undefined;
    if (is(parent)) return parent;
    at = parent.parentId;
  }
  return undefined;
}

function roleOf(entry: HistoryEntry): unknown {
  return entry.type === "message" ? (entry.message as { role?: unknown } | undefined)?.role : undefined;
}

function textOf(entry: HistoryEntry): string {
  const content = (entry.message as { content?: unknown } | undefined)?.content;
  if (typeof content === "string") return content;
  return blocks(content).map((b) => (b.type === "text" && typeof b.text === "string" ? b.text : "")).join(" ");
}

function toolsOf(entry: HistoryEntry): string[] {
  const message = entry.message as { content?: unknown; toolName?: unknown } | undefined;
  if (roleOf(entry) === "toolResult") return [String(message?.toolName)];
  return blocks(message?.content)
    .filter((b) => b.type === "toolCall" && typeof b.name === "string")
    .map((b) => `${b.name as string}${detail(b.arguments)}`);
}

function detail(args: unknown): string {
  if (typeof args !== "object" || args === null) return "";
  const { path, command } = args as { path?: unknown; command?: unknown };
  if (typeof path === "string") return ` ${cut(path, DETAIL_CHARS)}`;
  return typeof command === "string" ? `: ${cut(command, DETAIL_CHARS)}` : "";
}

function blocks(content: unknown): Block[] {
  return Array.isArray(content) ? content.filter((b): b is Block => typeof b === "object" && b !== null) : [];
}

export function cut(text: string, most: number): string {
  const chars = [...oneLine(text)];
  return chars.length > most ? `${chars.slice(0, most - 1).join("")}…` : chars.join("");
}

/** Takes out what would break a line on the terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]+/g, " ").trim();
}

/** Counts changes: `3 files +30 −4`. Directories come and go with their files. */
export function counted(all: readonly Change[]): string {
  const changes = all.filter((c) => !(c.new_mode ?? c.old_mode)?.startsWith("04"));
  if (changes.length === 0) return all.length === 0 ? "no change" : "directories only";
  const sum = (pick: (c: Change) => number | undefined) => changes.reduce((n, c) => n + (pick(c) ?? 0), 0);
  const known = changes.some((c) => c.added !== undefined || c.binary); // a plan does not count lines
  const lines = known ? ` +${sum((c) => c.added)} −${sum((c) => c.removed)}` : "";
  return `${changes.length} file${changes.length === 1 ? "" : "s"}${lines}`;
}

export function clock(time: Date, now = new Date()): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const at = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return time.toDateString() === now.toDateString() ? at : `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${at.slice(0, 5)}`;
}
