// The parts that need neither Pi nor a server.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Activity } from "../src/activity.ts";
import { findBinary } from "../src/binary.ts";
import { Client, RewindError } from "../src/client.ts";
import { choicesOf, chosenPaths } from "../src/choice.ts";
import { chooseFiles, FilesPanel } from "../src/files.ts";
import { clock, countedLines, cut, describe, fold, groups, type HistoryEntry, type Sources } from "../src/history.ts";
import { keyName } from "../src/keys.ts";
import { bindings, fileState, opRecord, pendingRecord, turnRecord, waysBack } from "../src/ledger.ts";
import type { Preview } from "../src/pane.ts";
import { type Items, type Outcome, Panel } from "../src/panel.ts";
import type { Change } from "../src/protocol.ts";
import { Retention } from "../src/retention.ts";
import { Server } from "../src/server.ts";
import { loadSettings, parseSettings } from "../src/settings.ts";
import { fit, fitMiddle } from "../src/width.ts";

const SERVER = path.join(import.meta.dirname, "fake-server.mjs");

test("the sources import one another without a circle, types included", () => {
  const dir = path.join(import.meta.dirname, "../src");
  const uses = new Map(readdirSync(dir).map((file) => [file, [...readFileSync(path.join(dir, file), "utf8").matchAll(/from "\.\/([a-z]+\.ts)"/g)].map((m) => m[1] as string)]));
  const done = new Set<string>();
  const visit = (file: string, way: string[]) => {
    assert.ok(!way.includes(file), [...way, file].join(" -> "));
    if (done.has(file)) return;
    for (const next of uses.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of uses.keys()) visit(file, []);
  assert.ok(done.size > 15);
});

test("a session is in the middle of one thing, and no restore of a move is lost", () => {
  const written: object[] = [];
  const activity = new Activity((files) => written.push(files));
  activity.runBegins();
  assert.equal(activity.running, true);
  activity.moves({ current: "A", undo: "U" }, true);
  assert.deepEqual([activity.running, activity.asked], [false, true]);
  activity.runEnds(); // of the run that the move ended
  assert.equal(activity.asked, true);
  activity.runBegins(); // the move never arrived
  assert.deepEqual([activity.running, activity.asked], [true, false]);
  assert.deepEqual(written, [{ current: "A", undo: "U" }]);
  activity.runEnds();
  activity.moves({ current: "B" });
  activity.settle();
  assert.equal(written.length, 1, "a move that changed no file leaves nothing to write");
  activity.moves({ current: "C", undo: "V" });
  assert.deepEqual(activity.arrived(), { current: "C", undo: "V" });
  assert.equal(activity.arrived(), undefined);
  assert.equal(written.length, 1);
});

test("records list each snapshot once", () => {
  assert.deepEqual(turnRecord([["u", "A"], ["a", "B"], ["b", "A"]]), { v: 2, snapshots: ["A", "B"], bindings: [["u", 0], ["a", 1], ["b", 0]] });
  assert.deepEqual(opRecord({ current: "A", undo: "B" }, ["s"]), { v: 2, snapshots: ["A", "B"], current: 0, undo: 1, bindings: [["s", 0]] });
  assert.deepEqual(opRecord({}, ["s"], "A"), { v: 2, snapshots: ["A"], bindings: [["s", 0]] });
  assert.equal(opRecord({}), undefined);
  assert.deepEqual(pendingRecord("A"), { v: 2, current: "A" });
});

test("what is no valid record is left out", () => {
  const custom = (customType: string, data: unknown) => ({ id: "x", type: "custom", customType, data });
  const entries = [
    custom("rewind-turn", { v: 2, snapshots: ["A"], bindings: [["u", 0], ["far", 7], [3, 0], "no", ["neg", -1]] }),
    custom("rewind-turn", { v: 1, snapshots: ["X"], bindings: [["u", 0]] }),
    custom("rewind-turn", null),
    custom("rewind-turn", { v: 2, snapshots: "A", bindings: [] }),
    custom("rewind-op", { v: 2, snapshots: ["B", 5], bindings: [["u", 0], ["five", 1]] }),
    { id: "y", type: "message", customType: "rewind-turn", data: { v: 2, snapshots: ["Z"], bindings: [["u", 0]] } },
  ];
  assert.deepEqual([...bindings(entries)], [["u", "B"]]);
});

test("the last record that says it counts for the state", () => {
  const op = (data: object) => ({ id: "x", type: "custom", customType: "rewind-op", data: { v: 2, snapshots: ["A", "B", "C"], ...data } });
  assert.deepEqual(fileState([op({ current: 0, undo: 1 }), op({ current: 2 })]), { current: "C", undo: "B" });
  assert.deepEqual(fileState([]), {});
});

test("settings: meaning, defaults, complaints", () => {
  const said: string[] = [];
  const read = (values: Record<string, unknown>) => parseSettings(values, (p) => said.push(p));
  assert.deepEqual(read({}), { silentCheckpoints: false, escEsc: false, smartFilter: false, toolPoints: [], snapshotTimeoutMs: 60_000, browserPoints: 500 });
  assert.deepEqual(read({ toolPoints: true }).toolPoints, ["write", "edit", "bash"]);
  assert.deepEqual(read({ retention: { maxSnapshots: 3, maxAgeDays: 7, pinLabeledEntries: true, scanMode: "repo-sessions", startupBudgetMs: 50 } }).retention, {
    maxSnapshots: 3, maxAgeDays: 7, pinLabeledEntries: true, scanMode: "repo-sessions", startupBudgetMs: 50,
  });
  assert.deepEqual(said, []);
  assert.equal(read({ toolPoints: [1] }).toolPoints.length, 0);
  assert.equal(read({ retention: { scanMode: "all" } }).retention?.scanMode, "ancestor-only");
  assert.equal(read({ retention: [] }).retention, undefined);
  assert.equal(said.length, 3);
});

test("settings files: the project's over the user's, but never the binary", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "rewind-unit-"));
  const before = process.env["PI_CODING_AGENT_DIR"];
  process.env["PI_CODING_AGENT_DIR"] = dir;
  try {
    mkdirSync(path.join(dir, ".pi"));
    writeFileSync(path.join(dir, "settings.json"), JSON.stringify({ rewind: { silentCheckpoints: true, binary: "/bin/one" } }));
    writeFileSync(path.join(dir, ".pi", "settings.json"), JSON.stringify({ rewind: { silentCheckpoints: false, binary: "/bin/evil" } }));
    const said: string[] = [];
    assert.deepEqual([loadSettings(dir, true, (p) => said.push(p))].map((s) => [s.silentCheckpoints, s.binary]), [[false, "/bin/one"]]);
    assert.equal(said.length, 1);
    assert.equal(loadSettings(dir, false, () => assert.fail()).silentCheckpoints, true);
    writeFileSync(path.join(dir, "settings.json"), "{ no json");
    assert.equal(loadSettings(dir, false, (p) => said.push(p)).silentCheckpoints, false);
    assert.match(said[1] ?? "", /not JSON/);
  } finally {
    if (before === undefined) delete process.env["PI_CODING_AGENT_DIR"];
    else process.env["PI_CODING_AGENT_DIR"] = before;
    rmSync(dir, { recursive: true });
  }
});

test("the binary: the setting must work, PATH comes last", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "rewind-unit-"));
  const file = path.join(dir, "rewind");
  writeFileSync(file, "");
  assert.throws(() => findBinary(file, {}), /is not a program/);
  assert.throws(() => findBinary("rewind", { PATH: dir }), /absolute path/);
  assert.throws(() => findBinary(undefined, { PATH: dir }), /no rewind program/);
  chmodSync(file, 0o755);
  assert.equal(findBinary(file, {}), file);
  assert.equal(findBinary(undefined, { PATH: `relative:${dir}` }), file);
  assert.equal(findBinary(undefined, { REWIND_BINARY: file }), file);
  rmSync(dir, { recursive: true });
});

const message = (id: string, parentId: string | null, role: string, content: unknown): HistoryEntry => ({
  id, parentId, type: "message", timestamp: `2026-01-01T00:00:0${id.length}.000Z`, message: { role, content },
});

test("labels name the prompt and the tools on one line", () => {
  const user = message("u", null, "user", [{ type: "text", text: "make\n\tit\u001b[31m so" }]);
  const tools = message("aa", "u", "assistant", [
    { type: "toolCall", name: "write", arguments: { path: "a.txt" } },
    { type: "toolCall", name: "bash", arguments: { command: "go test ./..." } },
    null,
  ]);
  const cycle = message("ccc", "ccc", "assistant", "just text");
  const byId = new Map([user, tools, cycle].map((e) => [e.id, e]));
  assert.equal(describe(user, byId), '"make it [31m so"');
  assert.equal(describe(tools, byId), '"make it [31m so" → write a.txt, bash: go test ./...');
  assert.equal(describe(cycle, byId), "→ just text");
  assert.equal(cut("👍".repeat(70), 60).length, 2 * 59 + 1);
});

function sources(entries: HistoryEntry[], bound: [string, string][], more: Partial<Sources> = {}): Sources {
  return { entries, bound: new Map(bound), branch: new Set(entries.map((e) => e.id)), records: [], session: "S", pins: {}, ...more };
}

test("points stand under their prompts, newest first, marked aside, with the point before", () => {
  const entries = [message("u", null, "user", "hi"), message("aa", "u", "assistant", "yes"), message("bbb", "u", "assistant", "no")];
  const point = { session: "S", time: "2026-01-01T00:01:00Z" };
  const record = { id: "K", tree: "", worktree: "", time: "", skipped: [], points: [{ ...point, label: "kept", entry: "aa" }, { ...point, trigger: "resume", time: "2025-12-31T00:00:00Z" }, { ...point, trigger: "turn", time: "" }] };
  const list = groups(sources(entries, [["u", "A"], ["aa", "B"], ["bbb", "C"], ["lost", "D"]], { branch: new Set(["u", "aa"]), records: [record] }));
  assert.deepEqual(list.map((g) => [g.title, g.rows.map((r) => [r.label, r.full, r.aside, r.before, r.entry])]), [
    ["", [["★ kept", "★ kept", false, undefined, "aa"]]],
    ['"hi"', [["after no", '"hi" → no', true, "A", "bbb"], ["after yes", '"hi" → yes', false, "A", "aa"], ["before this prompt", 'before "hi"', false, undefined, "u"]]],
    ["", [["Session start", "Session start", false, undefined, undefined]]],
  ]);
  assert.equal(countedLines([{ path: "a", status: "M", added: 3, removed: 1 }, { path: "b", status: "A", binary: true }]), "2 files +3 −1");
  const now = new Date(2026, 0, 2, 3, 4, 5);
  assert.equal(clock(now, now), "03:04:05");
  assert.equal(clock(new Date(2025, 0, 2, 3, 4, 5), now), "2025-01-02 03:04");
});

test("start points and checkpoints of other sessions are not listed, a name that moved is", () => {
  const at = (session: string, more: object) => ({ session, time: "2026-01-01T00:00:00Z", ...more });
  const records = [
    { id: "A", tree: "", worktree: "", time: "", skipped: [], points: [at("T", { trigger: "resume" }), at("S", { trigger: "resume" }), at("T", { label: "theirs" })] },
    { id: "B", tree: "", worktree: "", time: "", skipped: [], points: [at("S", { label: "good" })] },
    { id: "C", tree: "", worktree: "", time: "", skipped: [], points: [at("S", { label: "good" })] },
  ];
  const list = groups(sources([], [], { records, pins: { good: "C" } }));
  assert.deepEqual(list.map((g) => g.rows[0]?.label), ["Session start", "☆ good (the name is another point's now)", "★ good"]);
});

test("points that changed nothing are folded into the one before, and the conversation goes to their end", () => {
  const entries = [message("u", null, "user", "hi"), message("aa", "u", "assistant", "one"), message("bbb", "aa", "assistant", "two"), message("cccc", "bbb", "user", "so?"), message("ddddd", "cccc", "assistant", "yes")];
  const all = groups(sources(entries, [["u", "A"], ["aa", "B"], ["bbb", "B"], ["cccc", "B"], ["ddddd", "B"]]));
  const seen = fold(all).map((g) => g.rows.map((r) => [r.label, r.folded, r.entry]));
  assert.deepEqual(seen, [[["before this prompt", 1, "cccc"]], [["after one", 1, "bbb"], ["before this prompt", 0, "u"]]]);
  assert.deepEqual(all.map((g) => g.rows.length), [2, 3], "the list itself is as it was");
});

test("the ways back of a session: its own restores, with the conversation where that was moved", () => {
  const custom = (customType: string, data: unknown) => ({ id: "x", type: "custom", customType, data });
  const op = opRecord({ current: "A", undo: "U", leaf: "e9" });
  assert.deepEqual(op, { v: 2, snapshots: ["A", "U"], current: 0, undo: 1, leaf: "e9" });
  assert.equal(opRecord({ current: "A", leaf: "e9" })?.leaf, undefined, "what cannot be undone has no way back");
  const ways = waysBack([custom("rewind-op", op), custom("rewind-fork-pending", pendingRecord("A", "V")), custom("rewind-op", { v: 2, snapshots: ["A", "W"], undo: 1, leaf: 3 }), custom("rewind-op", null)]);
  assert.deepEqual([...ways], [["U", "e9"], ["V", undefined], ["W", undefined]]);
});

test("lines fit exactly, also with wide characters", () => {
  assert.equal(fit("abc", 5), "abc  ");
  assert.equal(fit("abcdef", 5), "abcd…");
  assert.equal(fit("日本語", 5), "日本…");
  assert.equal(fit("日本語", 6), "日本語");
  assert.equal(fit("a日本", 4), "a日…");
  assert.equal(fit("👍👍", 3), "👍…");
  assert.equal(fit("x", 0), "");
  assert.equal(fitMiddle("abcdefghijklmnopqrst", 11), "abcdef…qrst");
  assert.equal(fitMiddle("日本語日本語日本語", 11), "日本語…本語");
  assert.equal(fitMiddle("abc", 5), "abc  ");
  assert.equal(fitMiddle("abcdef", 4), "abc…");
});

test("keys of plain terminals and of Kitty's protocol", () => {
  for (const [data, name] of [
    ["\x1b[A", "up"], ["\x1bOB", "down"], ["\x1b[1;1B", "down"], ["\x1b[1;1:3B", undefined], ["\x1b", "escape"], ["\x1b[27u", "escape"], ["\x1b[27;1:3u", undefined],
    ["\r", "enter"], ["\x1b[13u", "enter"], ["\x03", "ctrl+c"], ["\x1b[99;5u", "ctrl+c"], ["q", "q"], ["\x1b[113u", "q"], ["\x1b[113;5u", undefined], ["\x1b[27;129u", "escape"], ["é", undefined],
  ] as const) assert.equal(keyName(data), name, JSON.stringify(data));
});

function client(rules: object): Client {
  return new Client({ binary: SERVER, env: { FAKE_RULES: JSON.stringify(rules) } });
}

test("the client: answers, errors, the end of the server", async () => {
  const c = client({ good: { n: 1 }, bad: { $error: [3, "no such snapshot"] }, last: "$die" });
  const [good, bad] = await Promise.allSettled([c.request("good"), c.request("bad")]);
  assert.deepEqual(good, { status: "fulfilled", value: { n: 1 } });
  assert.equal(((bad as PromiseRejectedResult).reason as RewindError).code, 3);
  await Promise.all([assert.rejects(c.request("last"), RewindError), assert.rejects(c.request("good"), RewindError)]);
  assert.equal(c.alive, false);
  await assert.rejects(c.request("good"), RewindError);
  await c.close();
});

test("the client: a signal and a time limit cancel", async () => {
  const c = client({ hang: "$hang" });
  const abort = new AbortController();
  const waiting = c.request("hang", {}, { signal: abort.signal });
  abort.abort();
  await assert.rejects(waiting, /hang: cancelled/);
  await assert.rejects(c.request("hang", {}, { signal: abort.signal }), /cancelled/);
  await assert.rejects(c.request("hang", {}, { timeoutMs: 5 }), /no answer within 5 ms/);
  await c.close();
});

test("the client: a program that is not there, and long answers in pieces", async () => {
  const none = new Client({ binary: "/nonexistent/rewind" });
  await assert.rejects(none.request("x"), /ENOENT/);
  await none.close();
  const text = "ä\u2028".repeat(500_000);
  const c = client({ long: "$long" });
  assert.deepEqual(await c.request("long"), { text });
  await c.close();
});

test("a file that was chosen means this path alone, whatever characters are in it", async () => {
  const names = ["x.txt", "[x].txt", "d/*", "!not", "#no", "end ", "back\\slash", ":(glob)x"];
  let next = 0;
  const select = (_title: string, choices: string[]) => Promise.resolve(next < names.length ? choices.filter((c) => !c.startsWith("Restore"))[next++] : choices[0]);
  const ctx = { ui: { select, notify: () => {} } } as unknown as Parameters<typeof chooseFiles>[0];
  const changes = names.map((name) => ({ path: name, status: "M" as const }));
  const chosen = await chooseFiles(ctx, { changes, preview: () => Promise.reject(new Error("no panel here")) }, false);
  assert.deepEqual(chosen, names.map((name) => `:(literal)${name}`));
});

const FILE = "100644";
const DIR = "040755";

test("a folder is no choice of its own, and comes along when all in it is marked", () => {
  const changes: Change[] = [
    { path: "new", status: "A", new_mode: DIR }, { path: "new-file", status: "A", new_mode: FILE }, { path: "new/a", status: "A", new_mode: FILE }, { path: "new/b", status: "A", new_mode: FILE },
    { path: "empty", status: "D", old_mode: DIR }, { path: "was-folder", status: "T", old_mode: DIR, new_mode: FILE }, { path: "was-folder/x", status: "D", old_mode: FILE },
    { path: "was-file", status: "T", old_mode: FILE, new_mode: DIR }, { path: "was-file/y", status: "A", new_mode: FILE },
  ];
  const choices = choicesOf(changes);
  assert.deepEqual(choices.list.map((c) => [c.change.path, c.with]), [["new-file", 0], ["new/a", 0], ["new/b", 0], ["empty", 0], ["was-folder", 1], ["was-file/y", 0]]);
  const chosen = (...paths: string[]) => chosenPaths(choices, new Set(choices.list.flatMap((c, i) => (paths.includes(c.change.path) ? [i] : [])))).map((p) => p.replace(":(literal)", ""));
  assert.deepEqual(chosen("new/a"), ["new/a"], "marking one file restores no other");
  assert.deepEqual(chosen("new/a", "new/b"), ["new/a", "new/b", "new"]);
  assert.deepEqual(chosen("empty", "was-file/y"), ["empty", "was-file/y", "was-file"]);
});

const theme = { fg: (_colour: string, text: string) => text, bold: (text: string) => text } as unknown as ConstructorParameters<typeof Panel>[1];
const screen = { rows: 30, redraw: () => {} };
const rest = () => new Promise((resolve) => setTimeout(resolve, 100)); // longer than the pane waits for the cursor

test("choosing files: the cursor stays, all, none, and the changes of the file under the cursor", async () => {
  const looked: string[] = [];
  let outcome: string[] | undefined | null = null;
  const changes = ["a", "b", "c"].map((name): Change => ({ path: name, status: "M", new_mode: FILE }));
  const preview = async (name: string): Promise<Preview> => (looked.push(name), { summary: `look ${name}`, lines: [] });
  const panel = new FilesPanel(choicesOf(changes), { changes, preview }, theme, screen, (paths) => (outcome = paths));
  const marks = () => panel.render(60).filter((l) => /\[.\]/.test(l)).map((l) => l.trim().replace(/ +/g, " "));
  panel.handleInput("j");
  panel.handleInput(" ");
  assert.deepEqual(marks(), ["[ ] restore a", "❯ [x] restore b", "[ ] restore c"]);
  await rest();
  assert.match(panel.render(60).join("\n"), /look b/);
  panel.handleInput("a");
  assert.match(panel.render(60)[0] ?? "", /3 of 3 marked/);
  panel.handleInput("n");
  panel.handleInput("\r");
  assert.match(panel.render(60)[0] ?? "", /0 of 3 marked · mark with Space first/);
  assert.equal(outcome, null);
  panel.handleInput(" ");
  panel.handleInput("\r");
  assert.deepEqual(outcome, [":(literal)b"]);
  assert.deepEqual(looked, ["b"], "what the cursor passes is not looked at");
});

test("the browser takes no choice before it is filled, begins with the newest point, and unfolds", async () => {
  const item = (line: number, label: string, group = '"a long prompt"') => ({ line, group, time: "03:04:05", label, aside: false });
  const all = [{ ...item(0, "↩ undo", ""), time: "" }, item(1, "after done"), item(2, "after write a.txt"), item(3, "before this prompt")];
  let fill: (items: Items) => void = () => {};
  let outcome: Outcome | null = null;
  const lines = Array.from({ length: 40 }, (_v, i) => `+${i}`);
  const previews: number[] = [];
  const source = { load: () => new Promise<Items>((resolve) => (fill = resolve)), stat: async () => "1 file +1 −1", preview: async (line: number) => (previews.push(line), { summary: "A restore", lines }) };
  const panel = new Panel(source, theme, screen, (o) => (outcome = o));
  panel.handleInput("\r");
  assert.equal(outcome, null);
  assert.match(panel.render(80)[0] ?? "", /reading…/);
  fill({ all, folded: [all[0], { ...item(2, "after write a.txt (+1 unchanged)") }, all[3]] as Items["all"], first: 2 });
  await rest();
  const shown = panel.render(80);
  assert.ok(shown.every((l) => l.length === 80));
  assert.match(shown.join("\n"), /^ +↩ undo[^]*\n "a long prompt" +\n {3}❯ 03:04:05 {2}after write a\.txt \(\+1 unchanged\)[^]*\n {5}03:04:05 {2}before this prompt/m);
  assert.match(shown.join("\n"), /A restore +lines 1–\d+ of 40/);
  panel.handleInput("\t");
  await rest();
  assert.match(panel.render(80).join("\n"), /lines (?!1–)\d+–\d+ of 40/);
  assert.deepEqual(previews, [2], "one preview for one place of the cursor");
  panel.handleInput("f");
  assert.match(panel.render(80)[0] ?? "", /3 of 4/);
  panel.handleInput("k");
  panel.handleInput("\r");
  assert.deepEqual(outcome, { line: 1 });
});

test("retention: at the start, after fifty new snapshots, and at the end", async () => {
  const asked: [boolean, boolean][] = [];
  const retention = new Retention({ limits: { maxSnapshots: 5, pinLabeledEntries: false, scanMode: "ancestor-only" }, prune: async (startup, timeout) => void asked.push([startup, timeout !== undefined]) });
  await retention.atStart();
  for (let i = 0; i < 49; i++) retention.taken();
  await retention.afterRun();
  assert.deepEqual(asked, [[true, false]]);
  retention.taken();
  await retention.afterRun();
  await retention.afterRun();
  assert.deepEqual(asked, [[true, false], [false, false]]);
  await retention.atEnd();
  assert.equal(asked.length, 2, "nothing is new");
  retention.taken();
  await retention.atEnd();
  assert.deepEqual(asked.at(-1), [false, true]);
  const none = new Retention({ limits: undefined, prune: () => assert.fail("there is no limit") });
  none.taken();
  await none.atEnd();
});

test("a server that keeps ending is tried less and less often, and never given up", async () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "rewind-unit-"));
  const log = path.join(dir, "log");
  const said: string[] = [];
  let now = 0;
  const rules = { die: "$die", good: { n: 1 } };
  const server = new Server({ binary: SERVER, env: { FAKE_RULES: JSON.stringify(rules), FAKE_LOG: log }, dir, warn: (m) => said.push(m), now: () => now });
  const starts = () => readFileSync(log, "utf8").split("\n").filter((l) => l === "start").length;
  await assert.rejects(server.request("die"), /started again/);
  assert.equal(server.off, false, "once is an accident");
  await assert.rejects(server.request("die"));
  assert.deepEqual([starts(), server.off, said.length], [2, true, 1]);
  assert.match(said[0] ?? "", /keeps ending .* Later messages try again; `rewind status`/);
  await assert.rejects(server.request("good"), /keeps ending/);
  assert.equal(starts(), 2, "not before it is time");
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) {
    const from = now;
    while (server.off) now += 1000;
    waits.push((now - from) / 1000);
    await assert.rejects(server.request("die"));
  }
  assert.deepEqual(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
  assert.equal(said.length, 1, "once is enough");
  now += 300_000;
  assert.deepEqual(await server.request("good"), { n: 1 });
  assert.deepEqual([server.off, server.why], [false, undefined]);
  await assert.rejects(server.request("die"), /started again/);
  assert.deepEqual(await server.request("good"), { n: 1 }, "and begins anew");
  await server.close();
  rmSync(dir, { recursive: true });
});
