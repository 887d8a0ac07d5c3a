// The parts that need neither Pi nor a server.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Activity } from "../src/activity.ts";
import { findBinary } from "../src/binary.ts";
import { Client, RewindError } from "../src/client.ts";
import { chooseFiles } from "../src/files.ts";
import { clock, counted, cut, describe, type HistoryEntry, rows } from "../src/history.ts";
import { keyName } from "../src/keys.ts";
import { bindings, fileState, opRecord, pendingRecord, turnRecord } from "../src/ledger.ts";
import { loadSettings, parseSettings } from "../src/settings.ts";
import { fit } from "../src/width.ts";

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

test("rows: newest first, marked aside, with the point before", () => {
  const entries = [message("u", null, "user", "hi"), message("aa", "u", "assistant", "yes"), message("bbb", "u", "assistant", "no")];
  const bound = new Map([["u", "A"], ["aa", "B"], ["bbb", "C"], ["lost", "D"]]);
  const record = { id: "K", time: "", skipped: [], points: [{ label: "kept", time: "2026-01-01T00:01:00Z" }, { trigger: "resume", time: "2025-12-31T00:00:00Z" }, { trigger: "turn", time: "" }] };
  const list = rows(entries, bound, new Set(["u", "aa"]), [record]);
  assert.deepEqual(list.map((r) => [r.label, r.aside, r.before]), [
    ["★ kept", false, undefined], ['"hi" → no', true, "A"], ['"hi" → yes', false, "A"], ['"hi"', false, undefined], ["Session start", false, undefined],
  ]);
  assert.equal(counted([{ path: "a", status: "M", added: 3, removed: 1 }, { path: "b", status: "A", binary: true }]), "2 files +3 −1");
  const now = new Date(2026, 0, 2, 3, 4, 5);
  assert.equal(clock(now, now), "03:04:05");
  assert.equal(clock(new Date(2025, 0, 2, 3, 4, 5), now), "2025-01-02 03:04");
});

test("lines fit exactly, also with wide characters", () => {
  assert.equal(fit("abc", 5), "abc  ");
  assert.equal(fit("abcdef", 5), "abcd…");
  assert.equal(fit("日本語", 5), "日本…");
  assert.equal(fit("日本語", 6), "日本語");
  assert.equal(fit("a日本", 4), "a日…");
  assert.equal(fit("👍👍", 3), "👍…");
  assert.equal(fit("x", 0), "");
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
  const chosen = await chooseFiles(ctx, names.map((name) => ({ path: name, status: "M" as const })));
  assert.deepEqual(chosen, names.map((name) => `:(literal)${name}`));
});
