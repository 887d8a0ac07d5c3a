// The points of a session as a list to choose from, newest first.

import type { Change, Record as SnapshotRecord } from "./protocol.ts";

/** An entry of the session, as far as a list of points shows it. */
export interface HistoryEntry {
  id: string;
  parentId: string | null;
  type: string;
  timestamp: string;
  message?: unknown;
  summary?: unknown;
}

/** A point that can be chosen: the state of files at an entry, a checkpoint, or the start of the session. */
export interface Row {
  snapshot: string;
  /** Entry to which the conversation goes back; absent for a point that belongs to no entry. */
  entry?: string;
  /** What the point is, under its prompt: `before this prompt`, `after write a.txt`. */
  label: string;
  /** The same for a list in which prompts do not stand above their points. */
  full: string;
  time: Date;
  /** Whether the entry lies on another branch of the conversation. */
  aside: boolean;
  /** Snapshot of the point before on the same branch, to count what changed. */
  before?: string;
  /** Points that changed no file and are not listed by themselves. */
  folded: number;
}

/** Points with what stands above them: the prompt, or nothing. */
export interface Group {
  title: string;
  rows: Row[];
}

/** What a list of points is made of. */
export interface Sources {
  entries: readonly HistoryEntry[];
  bound: ReadonlyMap<string, string>;
  /** Entries of the present branch of the conversation. */
  branch: ReadonlySet<string>;
  /** The session's snapshots, for the points that belong to no entry. */
  records: readonly SnapshotRecord[];
  session: string;
  /** Names that are taken, with the snapshots that have them now. */
  pins: Readonly<Record<string, string>>;
}

const PROMPT_CHARS = 60;
const DETAIL_CHARS = 40;
const TITLE_CHARS = 300;

interface Block {
  type?: unknown;
  text?: unknown;
  name?: unknown;
  arguments?: unknown;
}

/** Groups the points by their prompts, newest first, in a group too. */
export function groups(from: Sources): Group[] {
  const byId = new Map(from.entries.map((e) => [e.id, e]));
  const list = new Map<string, Group>();
  for (const entry of from.entries) {
    const row = rowOf(entry, byId, from);
    if (!row) continue;
    const prompt = promptOf(entry, byId);
    const key = prompt?.id ?? entry.id;
    const group = list.get(key) ?? { title: prompt ? `"${cut(textOf(prompt), TITLE_CHARS)}"` : "", rows: [] };
    group.rows.unshift(row);
    list.set(key, group);
  }
  const all = [...list.values(), ...apart(from, byId).map((row) => ({ title: "", rows: [row] }))];
  for (const group of all) group.rows.sort((a, b) => b.time.getTime() - a.time.getTime());
  return all.sort((a, b) => newest(b) - newest(a));
}

/** Takes points that changed no file into the one before them under the same prompt. */
export function fold(list: readonly Group[]): Group[] {
  return list.map(({ title, rows }) => {
    const kept: Row[] = [];
    for (const row of [...rows].reverse()) {
      const into = kept.at(-1);
      if (!into || row.snapshot !== row.before || row.snapshot !== into.snapshot || row.aside !== into.aside) {
        kept.push({ ...row });
        continue;
      }
      into.folded++;
      // The conversation goes back to the end of what is folded, but for the state before a prompt.
      if (row.entry && into.label !== BEFORE) into.entry = row.entry;
    }
    return { title, rows: kept.reverse() };
  });
}

const BEFORE = "before this prompt";

function newest(group: Group): number {
  return Math.max(...group.rows.map((row) => row.time.getTime()));
}

function rowOf(entry: HistoryEntry, byId: ReadonlyMap<string, HistoryEntry>, from: Sources): Row | undefined {
  const snapshot = from.bound.get(entry.id);
  if (snapshot === undefined) return undefined;
  const full = describe(entry, byId);
  const isPrompt = roleOf(entry) === "user";
  const row: Row = {
    snapshot, entry: entry.id, time: new Date(entry.timestamp), aside: !from.branch.has(entry.id), folded: 0,
    label: isPrompt ? BEFORE : entry.type === "message" ? `after ${deeds(entry, TITLE_CHARS)}` : full,
    full: isPrompt ? `before ${full}` : full,
  };
  const before = ancestor(entry, byId, (e) => from.bound.has(e.id));
  if (before) row.before = from.bound.get(before.id) as string;
  return row;
}

/** Rows of checkpoints and of the start of the session. */
function apart(from: Sources, byId: ReadonlyMap<string, HistoryEntry>): Row[] {
  const list: Row[] = [];
  for (const record of from.records) {
    for (const point of record.points) {
      if (point.session !== undefined && point.session !== from.session) continue; // another session's
      const label = point.label ? named(point.label, record.id, from.pins) : point.trigger === "resume" ? "Session start" : undefined;
      if (!label) continue;
      const row: Row = { snapshot: record.id, label, full: label, time: new Date(point.time), aside: false, folded: 0 };
      const entry = point.entry === undefined ? undefined : byId.get(point.entry);
      // To go back to a message of the user is to go before it: that is another state.
      if (entry && roleOf(entry) !== "user") Object.assign(row, { entry: entry.id, aside: !from.branch.has(entry.id) });
      list.push(row);
    }
  }
  return list;
}

function named(label: string, id: string, pins: Readonly<Record<string, string>>): string {
  const now = pins[label];
  return now !== undefined && now !== id ? `☆ ${oneLine(label)} (the name is another point's now)` : `★ ${oneLine(label)}`;
}

function promptOf(entry: HistoryEntry, byId: ReadonlyMap<string, HistoryEntry>): HistoryEntry | undefined {
  if (entry.type !== "message") return undefined;
  return roleOf(entry) === "user" ? entry : ancestor(entry, byId, (e) => roleOf(e) === "user");
}

/** Says in a line what an entry is: `"prompt" → tools`. */
export function describe(entry: HistoryEntry, byId: ReadonlyMap<string, HistoryEntry>): string {
  if (entry.type === "compaction") return "(compaction)";
  if (entry.type === "branch_summary") return "(branch summary)";
  const prompt = promptOf(entry, byId);
  const quoted = prompt ? `"${cut(textOf(prompt), PROMPT_CHARS)}"` : "";
  if (prompt === entry) return quoted;
  const tools = deeds(entry, DETAIL_CHARS);
  return quoted ? `${quoted} → ${tools}` : `→ ${tools}`;
}

/** What a message did: its tools, else its text. */
function deeds(entry: HistoryEntry, chars: number): string {
  return toolsOf(entry, chars).join(", ") || cut(textOf(entry), chars) || entry.type;
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

function toolsOf(entry: HistoryEntry, chars: number): string[] {
  const message = entry.message as { content?: unknown; toolName?: unknown } | undefined;
  if (roleOf(entry) === "toolResult") return [String(message?.toolName)];
  return blocks(message?.content)
    .filter((b) => b.type === "toolCall" && typeof b.name === "string")
    .map((b) => `${b.name as string}${detail(b.arguments, chars)}`);
}

function detail(args: unknown, chars: number): string {
  if (typeof args !== "object" || args === null) return "";
  const { path, command } = args as { path?: unknown; command?: unknown };
  if (typeof path === "string") return ` ${cut(path, chars)}`;
  return typeof command === "string" ? `: ${cut(command, chars)}` : "";
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

/** Counts changes and their lines: `3 files +30 −4`. Directories come and go with their files. */
export function countedLines(all: readonly Change[]): string {
  const changes = all.filter((c) => !(c.new_mode ?? c.old_mode)?.startsWith("04"));
  if (changes.length === 0) return all.length === 0 ? "no change" : "folders only";
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
