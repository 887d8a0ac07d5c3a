// The extension against a fake Pi and a scripted server.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { FakePi } from "./fake-pi.ts";

const SERVER = path.join(import.meta.dirname, "fake-server.mjs");
const KEEP = "Conversation only (keep current files)";
let dir = "";
let pi: FakePi;

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "rewind-unit-"));
  Object.assign(process.env, { REWIND_BINARY: SERVER, PI_CODING_AGENT_DIR: dir, FAKE_LOG: path.join(dir, "log") });
});

afterEach(async () => {
  await pi.emit("session_shutdown");
  for (const name of ["REWIND_BINARY", "PI_CODING_AGENT_DIR", "FAKE_LOG", "FAKE_RULES"]) delete process.env[name];
  rmSync(dir, { recursive: true });
});

const snapshot = (id: string) => ({ id, reused: false, changed: 1, skipped: [], bridged: true });

async function start(rules: object, settings: object = {}, event: object = { reason: "startup" }): Promise<FakePi> {
  process.env["FAKE_RULES"] = JSON.stringify({ exists: { ids: ["A", "B", "U"] }, ...rules });
  writeFileSync(path.join(dir, "settings.json"), JSON.stringify({ rewind: settings }));
  pi = new FakePi();
  await pi.emit("session_start", event);
  return pi;
}

function log(): string[] {
  return readFileSync(path.join(dir, "log"), "utf8").trim().split("\n");
}

function requests(method: string): any[] {
  return log().filter((l) => l.startsWith(`${method} {`)).map((l) => JSON.parse(l.slice(method.length + 1)));
}

test("a prompt and its turn are bound, each once and in order", async () => {
  await start({ snapshot: snapshot("A") });
  const { user, assistant } = await pi.prompt("hello");
  assert.deepEqual(pi.records("rewind-turn").flatMap((r) => r.bindings), [[user.id, 0], [assistant.id, 0]]);
  assert.deepEqual(pi.records("rewind-turn")[0], { v: 2, snapshots: ["A"], bindings: [[user.id, 0]] });
  assert.equal(pi.status, "◆ 2 points / 1 snapshots");
  assert.deepEqual(requests("snapshot").map((p) => p.trigger), ["resume", "prompt", "turn"]);
});

test("the user's point stands before the first tool runs", async () => {
  await start({ snapshot: snapshot("A") });
  await pi.emit("agent_start");
  const user = await pi.message({ role: "user", content: "x" });
  await pi.emit("tool_call", {});
  assert.deepEqual(pi.records("rewind-turn"), [{ v: 2, snapshots: ["A"], bindings: [[user.id, 0]] }]);
});

test("equal prompts are told apart, and a replaced message is found", async () => {
  await start({ snapshot: snapshot("A") });
  const first = await pi.prompt("same");
  const second = await pi.prompt("same");
  await pi.emit("agent_start");
  const replaced = await pi.message({ role: "user", content: "same" }, { role: "user", content: "other" });
  await pi.emit("agent_end");
  const bound = pi.records("rewind-turn").flatMap((r) => r.bindings.map((b: [string]) => b[0]));
  assert.deepEqual(bound, [first.user.id, first.assistant.id, second.user.id, second.assistant.id, replaced.id]);
});

test("session_start twice asks and writes once", async () => {
  await start({ snapshot: snapshot("A"), points: { points: {}, pending: { current: "A", undo: "U" } } }, {}, { reason: "fork", previousSessionFile: "/p.jsonl" });
  await pi.emit("session_start", { reason: "fork", previousSessionFile: "/p.jsonl" });
  assert.deepEqual(pi.records("rewind-op"), [{ v: 2, snapshots: ["A", "U"], current: 0, undo: 1 }]);
});

test("Code only restores, records, and cancels the fork", async () => {
  await start({ snapshot: snapshot("A"), plan: { id: "A", changes: [] }, restore: { id: "A", undo: "U", written: 1, deleted: 0, kept: [], conflicts: [] } });
  const { user } = await pi.prompt("hello");
  pi.answers = ["Code only (restore files, keep conversation)"];
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: user.id }), [{ cancel: true }]);
  assert.deepEqual(pi.records("rewind-op").at(-1), { v: 2, snapshots: ["A", "U"], current: 0, undo: 1 });
  assert.equal(pi.records("rewind-fork-pending").length, 0);
  assert.deepEqual(requests("restore"), [{ id: "A", paths: [] }]);
});

test("Conversation only hands over the present, and goes on where that fails", async () => {
  await start({ snapshot: snapshot("A") });
  const { user } = await pi.prompt("hello");
  pi.answers = [KEEP];
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: user.id }), [undefined]);
  assert.deepEqual(pi.records("rewind-fork-pending"), [{ v: 2, current: "A" }]);
  await pi.emit("session_shutdown");
  await start({ snapshot: { $error: [1, "disk full"] }, exists: { $error: [1, "disk full"] } });
  await pi.prompt("hello");
  pi.answers = [KEEP];
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: "e1" }), [undefined]);
  assert.ok(pi.notes.some((n) => n.includes("snapshot failed (disk full)")));
  assert.match(pi.status ?? "", /⚠ rewind: .*disk full/);
});

test("a restore that fails cancels the fork and the navigation, and says so", async () => {
  await start({ snapshot: snapshot("A"), plan: { id: "A" }, restore: { $error: [4, "damaged"] } });
  const { user } = await pi.prompt("hello");
  pi.answers = ["Restore all (files + conversation)", "Restore files to that point"];
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: user.id }), [{ cancel: true }]);
  assert.deepEqual(await pi.emit("session_before_tree", { preparation: { targetId: user.id } }), [{ cancel: true }]);
  assert.ok(pi.notes.includes("Rewind failed before fork: damaged"));
  assert.ok(pi.notes.includes("Rewind failed before tree navigation: damaged"));
});

test("conflicts of a restore are named", async () => {
  const conflicts = [{ path: "mine.txt", reason: "changed since" }];
  await start({ snapshot: snapshot("A"), plan: { id: "A" }, restore: { id: "A", undo: "U", written: 0, deleted: 0, kept: [], conflicts } });
  const { user } = await pi.prompt("hello");
  pi.answers = ["Restore files to that point"];
  await pi.emit("session_before_tree", { preparation: { targetId: user.id } });
  assert.ok(pi.notes.some((n) => n.includes("mine.txt (changed since)")));
});

test("the undo of the last restore goes through the engine's own history", async () => {
  const done = { written: 1, deleted: 0, kept: [], conflicts: [] };
  await start({ snapshot: snapshot("A"), planUndo: { $error: [1, "nothing"] }, planRedo: { id: "U", changes: [] }, redo: { id: "U", undo: "B", ...done } });
  const { user } = await pi.prompt("hello");
  pi.append({ type: "custom", customType: "rewind-op", data: { v: 2, snapshots: ["A", "U"], current: 0, undo: 1 } });
  pi.answers = ["Undo last file rewind"];
  assert.deepEqual(await pi.emit("session_before_tree", { preparation: { targetId: user.id } }), [{ cancel: true }]);
  assert.deepEqual(pi.records("rewind-op").at(-1), { v: 2, snapshots: ["U", "B"], current: 0, undo: 1 });
  assert.deepEqual(requests("restore"), []);
});

test("a navigation that Pi gave up after the restore is written down all the same", async () => {
  await start({ snapshot: snapshot("A"), plan: { id: "A" }, restore: { id: "A", undo: "U", written: 1, deleted: 0, kept: [], conflicts: [] } });
  const { user } = await pi.prompt("hello");
  pi.answers = ["Restore files to that point"];
  await pi.emit("session_before_tree", { preparation: { targetId: user.id } });
  assert.equal(pi.records("rewind-op").length, 0);
  await pi.prompt("on we go");
  assert.deepEqual(pi.records("rewind-op"), [{ v: 2, snapshots: ["A", "U"], current: 0, undo: 1 }]);
});

test("a fork in the middle of a run stops the run first", async () => {
  await start({ snapshot: snapshot("A") });
  await pi.emit("agent_start");
  pi.idle = false;
  pi.answers = [KEEP];
  await pi.emit("session_before_fork", { entryId: "e1" });
  assert.equal(pi.aborted, 1);
});

test("without a user interface nothing is asked", async () => {
  await start({ snapshot: snapshot("A") });
  const { user } = await pi.prompt("hello");
  pi.hasUI = false;
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: user.id }), [undefined]);
  assert.deepEqual(await pi.emit("session_before_tree", { preparation: { targetId: user.id } }), [undefined]);
  assert.deepEqual(pi.dialogs, []);
  assert.deepEqual(pi.records("rewind-fork-pending"), [{ v: 2, current: "A" }]);
});

test("a server that dies is started again, and switched off when it dies for good", async () => {
  await start({ snapshot: "$die" });
  for (let i = 0; i < 6; i++) await pi.prompt(`p${i}`);
  assert.equal(log().filter((l) => l === "start").length, 5);
  assert.equal(pi.notes.filter((n) => n.includes("Rewind is off")).length, 1);
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: "e1" }), [undefined]);
});

test("a snapshot that hangs is cancelled, and the agent goes on", async () => {
  await start({ snapshot: "$hang" }, { snapshotTimeoutMs: 1 });
  const begun = Date.now();
  await pi.prompt("hello");
  assert.ok(Date.now() - begun < 20_000);
  assert.ok(pi.notes.some((n) => n.includes("no answer within")));
  await pi.emit("session_shutdown");
  assert.equal(requests("cancel").length, requests("snapshot").length);
});

test("a directory that is refused is one notice", async () => {
  await start({ initialize: { $error: [1, "refused: /home/u is your home directory"] } });
  await pi.prompt("hello");
  await pi.prompt("again");
  assert.deepEqual(pi.notes.filter((n) => n.includes("refused")), ["Rewind is off here: refused: /home/u is your home directory"]);
  assert.deepEqual(pi.records("rewind-turn"), []);
});

test("retention reaches the engine as its own settings", async () => {
  await start({ snapshot: snapshot("A"), prune: {} }, { retention: { maxSnapshots: 5 } });
  await pi.prompt("hello");
  assert.deepEqual(requests("prune"), [{ session: "S", startup: true }]);
});

test("a checkpoint labels its entry only where the files are as at its point", async () => {
  await start({ snapshot: snapshot("A"), pin: {} });
  const { assistant } = await pi.prompt("hello");
  await pi.commands.get("checkpoint")?.handler(" good ", pi.ctx);
  assert.deepEqual(pi.labels, [[assistant.id, "good"]]);
  assert.deepEqual(requests("pin"), [{ id: "A", name: "good" }]);
});
