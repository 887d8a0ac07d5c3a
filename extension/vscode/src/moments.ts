// History as people think of it: conversations, their prompts, what each of
// them changed; and snapshots of no conversation.

import type { Point, SnapshotRecord } from "./records.ts";

/** What an agent did for one prompt. */
export interface Turn {
  kind: "turn";
  key: string;
  session: string;
  agent: string | undefined;
  prompt: string;
  /** The state before the agent worked on it, if it was recorded. */
  before: SnapshotRecord | undefined;
  /** The snapshots that were taken since, newest first. */
  steps: SnapshotRecord[];
  /** The id of the state before; undefined: not known. */
  from: string | undefined;
  /** The id of the state after; undefined: the agent may still be at work. */
  to: string | undefined;
  time: string;
}

/** A snapshot that belongs to no turn. */
export interface Single {
  kind: "single";
  key: string;
  record: SnapshotRecord;
  title: string;
  time: string;
}

export interface Session {
  kind: "session";
  key: string;
  id: string;
  agent: string | undefined;
  title: string;
  entries: (Turn | Single)[];
  time: string;
}

export type Entry = Session | Single;

interface Open {
  turns: Turn[];
  byEntry: Map<string, Turn>;
  singles: Single[];
}

/** Arranges what was recorded, which is given newest first. The newest comes first again. */
export function arrange(records: readonly SnapshotRecord[]): Entry[] {
  const sessions = new Map<string, Open>();
  const singles: Single[] = [];
  const points = records.flatMap((record) => record.points.filter((p) => p.session).map((point) => ({ record, point })));
  points.sort((a, b) => (a.point.time < b.point.time ? -1 : a.point.time > b.point.time ? 1 : 0));
  for (const { record, point } of points) {
    const session = point.session as string;
    let open = sessions.get(session);
    if (!open) sessions.set(session, (open = { turns: [], byEntry: new Map(), singles: [] }));
    take(open, session, record, point);
  }
  for (const record of records) {
    if (record.points.some((p) => p.session) && !isLabelled(record)) continue;
    if (record.of_restore && !record.names?.length) continue; // no undo leads to it
    singles.push(single(record, titleOf(record)));
  }
  const groups = [...sessions].map(([id, open]) => sessionOf(id, open));
  return [...groups, ...singles].sort(newestFirst);
}

/** Whether somebody gave it a label: then it has a row of its own, also where a prompt began from it. */
function isLabelled(record: SnapshotRecord): boolean {
  return record.points.some((p) => !p.session && p.label);
}

function take(open: Open, session: string, record: SnapshotRecord, point: Point): void {
  const last = open.turns.at(-1);
  if (point.trigger === "prompt") {
    if (last && last.to === undefined) last.to = record.id;
    if (record.changed?.base && record.changed.files > 0 && !isEnd(last, record) && !isLabelled(record)) {
      open.singles.push(single(record, `Changed before “${promptOf(point) || "a prompt"}”`));
    }
    begin(open, session, point, record);
    return;
  }
  const turn = (point.entry && open.byEntry.get(point.entry)) || last || begin(open, session, point, undefined);
  if (turn.steps[0] !== record) turn.steps.unshift(record);
  turn.to = record.id;
  turn.from ??= record.changed?.base;
  turn.prompt ||= promptOf(point);
  turn.agent ??= point.agent;
  turn.time = point.time;
}

/** Whether a turn has made what a snapshot has, so that nobody else did. */
function isEnd(turn: Turn | undefined, record: SnapshotRecord): boolean {
  return record.points.some((p) => p.session && p.trigger !== "prompt") || (turn?.steps.includes(record) ?? false);
}

function begin(open: Open, session: string, point: Point, before: SnapshotRecord | undefined): Turn {
  const turn: Turn = {
    kind: "turn", key: `${session}\0${point.entry ?? ""}\0${point.time}`, session, agent: point.agent, prompt: promptOf(point),
    before, steps: [], from: before?.id, to: undefined, time: point.time,
  };
  open.turns.push(turn);
  if (point.entry) open.byEntry.set(point.entry, turn);
  return turn;
}

function promptOf(point: Point): string {
  return oneLine(point.prompt || point.label || "");
}

function single(record: SnapshotRecord, title: string): Single {
  return { kind: "single", key: `single\0${record.id}`, record, title, time: record.time };
}

function sessionOf(id: string, open: Open): Session {
  const entries = [...open.turns, ...open.singles].sort(newestFirst);
  const first = open.turns.find((t) => t.prompt)?.prompt;
  const agent = open.turns.find((t) => t.agent)?.agent;
  return { kind: "session", key: `session\0${id}`, id, agent, title: first || `Session ${id.slice(0, 12)}`, entries, time: entries[0]?.time ?? "" };
}

function newestFirst(a: { time: string }, b: { time: string }): number {
  return a.time < b.time ? 1 : a.time > b.time ? -1 : 0;
}

/** What a snapshot was taken for, in a few words. */
export function titleOf(record: SnapshotRecord): string {
  if (record.of_restore) return "Before a restore";
  if (record.label) return oneLine(record.label);
  let after = "";
  for (const p of [...record.points].reverse()) {
    if (!p.prompt) continue;
    if (p.trigger !== "prompt") return oneLine(p.prompt);
    after ||= `Before “${oneLine(p.prompt)}”`;
  }
  const trigger = record.points.findLast((p) => p.trigger)?.trigger;
  return after || (trigger ? oneLine(trigger) : "Recorded");
}

/** The newest turn of all: what the agent has just done, or does. */
export function lastTurn(entries: readonly Entry[]): Turn | undefined {
  const turns = entries.flatMap((e) => (e.kind === "session" ? e.entries : [])).filter((e) => e.kind === "turn");
  return turns.sort(newestFirst)[0];
}

/** The turn that brought a snapshot, if it is known. */
export function turnOf(entries: readonly Entry[], id: string): Turn | undefined {
  for (const e of entries) {
    if (e.kind !== "session") continue;
    for (const t of e.entries) if (t.kind === "turn" && t.steps.some((s) => s.id === id)) return t;
  }
  return undefined;
}

/** What has all of the words and, where paths were asked for, a snapshot that changed something there. */
export function select(entries: readonly Entry[], words: readonly string[], touched: ReadonlySet<string> | undefined): Entry[] {
  const wanted = words.map((w) => w.toLowerCase());
  const has = (texts: (string | undefined)[]) => {
    const hay = texts.filter(Boolean).join("\n").toLowerCase();
    return wanted.every((w) => hay.includes(w));
  };
  const keep = (e: Turn | Single, of: (string | undefined)[]): boolean => {
    const records = e.kind === "turn" ? e.steps : [e.record];
    if (touched && !records.some((r) => touched.has(r.id))) return false;
    return has([...of, e.kind === "turn" ? e.prompt : e.title, ...records.flatMap((r) => [r.id, r.label, r.branch, ...(r.pins ?? []), ...r.points.map((p) => p.label)])]);
  };
  return entries.flatMap((e): Entry[] => {
    if (e.kind === "single") return keep(e, []) ? [e] : [];
    const kept = e.entries.filter((one) => keep(one, [e.id, e.agent]));
    return kept.length > 0 ? [{ ...e, entries: kept }] : [];
  });
}

export function counted(n: number, what: string): string {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

/** `3 files +12 −4`, or nothing where that is not known. */
export function countsOf(record: SnapshotRecord): string {
  const c = record.changed;
  if (!c) return "";
  if (!c.base) return `all ${counted(c.files, "file")}`;
  if (c.files === 0) return "nothing changed";
  return `${counted(c.files, "file")}${linesOf(c.added, c.removed)}`;
}

export function linesOf(added: number | undefined, removed: number | undefined): string {
  if (!added && !removed) return "";
  return ` +${added ?? 0} −${removed ?? 0}`;
}

/** The hour of today, else the day too. */
export function when(time: string, now = new Date()): string {
  const t = new Date(time);
  if (Number.isNaN(t.getTime())) return "";
  const two = (n: number) => String(n).padStart(2, "0");
  const hour = `${two(t.getHours())}:${two(t.getMinutes())}`;
  if (t.toDateString() === now.toDateString()) return hour;
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${hour}`;
}

/** Text from outside, on one line: neither line ends nor what turns text around or hides in it. */
export function oneLine(text: string, most = 200): string {
  const flat = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ").trim();
  const signs = [...flat.slice(0, most * 2)];
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : flat;
}

/** A message in which nothing is a link: the editor takes `[name](command:…)` for one. */
export function unlinked(text: string): string {
  return oneLine(text, 2000).replaceAll("](", "] (");
}

/** A text of a row in which nothing is an icon: the editor takes `$(name)` for one. */
export function iconless(text: string): string {
  return text.replaceAll("$(", "\\$(");
}
