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
  pi.answers = ["Undo last file rewind", "Undo it"];
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

test("a server that keeps dying is one notice, and forks go on without a dialog", async () => {
  await start({ snapshot: "$die" });
  for (let i = 0; i < 6; i++) await pi.prompt(`p${i}`);
  assert.equal(pi.notes.filter((n) => n.includes("Rewind is off")).length, 1, JSON.stringify(pi.notes));
  assert.ok(log().filter((l) => l === "start").length < 6);
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
  assert.deepEqual(pi.notes.filter((n) => n.includes("refused")), ["Rewind is off here: refused: /home/u is your home directory. Your messages are not recorded; later ones try again"]);
  assert.deepEqual(pi.records("rewind-turn"), []);
});

test("retention reaches the engine as its own settings", async () => {
  await start({ snapshot: snapshot("A"), prune: {} }, { retention: { maxSnapshots: 5 } });
  await pi.prompt("hello");
  assert.deepEqual(requests("prune"), [{ session: "S", startup: true }]);
  await pi.emit("session_shutdown");
  assert.deepEqual(requests("prune").at(-1), { session: "S", startup: false }, "at the end too: the snapshots of this session may go only then");
});

test("a checkpoint labels its entry only where the files are as at its point", async () => {
  await start({ snapshot: snapshot("A"), pin: {} });
  const { assistant } = await pi.prompt("hello");
  await pi.commands.get("checkpoint")?.handler(" good ", pi.ctx);
  assert.deepEqual(pi.labels, [[assistant.id, "good"]]);
  assert.deepEqual(requests("pin"), [{ id: "A", name: "good" }]);
});

const CONFLICTS = [{ path: "mine.txt", reason: "changed since" }];
const restored = (id: string, undo: string, conflicts: object[] = []) => ({ id, undo, written: 1, deleted: 0, kept: [], conflicts });

test("a restore in part is told in a dialog, which stands until it is read", async () => {
  await start({ snapshot: snapshot("A"), plan: { id: "A" }, restore: restored("A", "U", CONFLICTS) });
  const { user } = await pi.prompt("hello");
  pi.answers = ["Restore files to that point", "Go on"];
  await pi.emit("session_before_tree", { preparation: { targetId: user.id } });
  assert.deepEqual(pi.dialogs.at(-1), ["Restored in part. 1 path could not be restored, what is there stays:\nmine.txt (changed since)", "Go on", "Take the restore back"]);
  assert.ok(!pi.notes.includes("Files restored to rewind point"), "no false success");
  assert.match(pi.status ?? "", /⚠ rewind: not restored: mine\.txt/);
  await pi.prompt("on we go");
  assert.doesNotMatch(pi.status ?? "", /not restored/);
});

test("a restore in part can be taken back, and then nobody goes anywhere", async () => {
  await start({ snapshot: snapshot("A"), plan: { id: "A" }, restore: restored("A", "U", CONFLICTS), planUndo: { id: "U" }, undo: restored("U", "A2") });
  const { user } = await pi.prompt("hello");
  pi.answers = ["Restore all (files + conversation)", "Take the restore back"];
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: user.id }), [{ cancel: true }]);
  assert.equal(requests("undo").length, 1);
  assert.deepEqual(pi.records("rewind-fork-pending"), []);
});

test("secrets in git are told: at once, or in a dialog where a redraw would wipe a notice", async () => {
  await start({ snapshot: { ...snapshot("A"), exposed: [".env", { b64: Buffer.from("odd\xff.pem", "latin1").toString("base64") }] } });
  const { user } = await pi.prompt("hello");
  assert.match(pi.notes.find((n) => n.includes(".env")) ?? "", /look like secrets.*git's objects now: \.env, odd\ufffd\.pem\. `git config rewind\.secrets builtin`.*`rewind purge PATH`/);
  const told = pi.notes.length;
  pi.answers = ["Keep current files", "OK"];
  await pi.emit("session_before_tree", { preparation: { targetId: user.id } });
  assert.match(pi.dialogs.at(-1)?.[0] ?? "", /look like secrets/);
  assert.equal(pi.notes.length, told);
});

test("history that fills the disk is told", async () => {
  await start({ snapshot: { ...snapshot("A"), cost: { store_bytes: 3 * 2 ** 30, git_bytes: 2 ** 29, free_bytes: 10 * 2 ** 30 } } });
  await pi.prompt("hello");
  assert.match(pi.notes.find((n) => n.includes("history")) ?? "", /takes 3\.5 GiB, more than a tenth of the 10\.0 GiB that are free.*`rewind status`/);
});

/** Opens the browser with the answers of its dialogs. */
async function rewindWith(...answers: (string | boolean | undefined)[]): Promise<void> {
  pi.answers = answers;
  await pi.commands.get("rewind")?.handler("", pi.ctx);
}

test("an undo is asked about, with what it will change and whose restore it takes back", async () => {
  const plan = { id: "U", changes: [{ path: "a.txt", status: "M", new_mode: "100644" }, { path: "b.txt", status: "D", old_mode: "100644" }] };
  await start({ snapshot: snapshot("A"), list: { snapshots: [] }, status: { undo: 1, redo: 0 }, planUndo: plan, undo: restored("U", "V") });
  await pi.prompt("hello");
  const UNDO = "1.   ↩ undo the last file rewind";
  await rewindWith(UNDO, "Leave everything as it is", undefined);
  assert.deepEqual(pi.dialogs.at(-2), [
    "Undo the last file rewind?\n1 file written, 1 deleted: a.txt, b.txt\nThe rewind was not made in this session: another session made it, or somebody at the shell.",
    "Leave everything as it is", "Undo files: 1 file written, 1 deleted",
  ]);
  assert.deepEqual(requests("undo"), []);
  pi.append({ type: "custom", customType: "rewind-op", data: { v: 2, snapshots: ["A", "U"], current: 0, undo: 1 } });
  await rewindWith(UNDO, "Undo files: 1 file written, 1 deleted");
  assert.doesNotMatch(pi.dialogs.at(-1)?.[0] ?? "", /not made in this session/);
  assert.deepEqual(pi.records("rewind-op").at(-1), { v: 2, snapshots: ["U", "V"], current: 0, undo: 1 });
});

test("the undo of files and conversation offers both", async () => {
  await start({ snapshot: snapshot("A"), list: { snapshots: [] }, status: { undo: 1, redo: 0 }, plan: { id: "A", changes: [{ path: "a", status: "M" }] }, restore: restored("A", "U"), planUndo: { id: "U" }, undo: restored("U", "V") });
  const { user } = await pi.prompt("hello");
  const left = pi.leaf;
  const both = "Restore files and conversation: 1 file written";
  pi.answers = [undefined];
  await pi.commands.get("rewind")?.handler("", pi.ctx);
  const line = pi.dialogs.at(-1)?.find((l) => l.includes('before "hello"'));
  await rewindWith(line, both);
  assert.deepEqual(pi.navigated.at(-1)?.[0], user.id);
  assert.equal(pi.records("rewind-op").at(-1).leaf, left);
  const there = pi.leaf;
  await rewindWith("1.   ↩ undo the last file rewind", "Undo files and conversation: no file changes");
  assert.deepEqual(pi.dialogs.at(-1)?.slice(1), ["Leave everything as it is", "Undo files only: no file changes", "Undo files and conversation: no file changes"]);
  assert.equal(pi.navigated.at(-1)?.[0], left, "back to where it was");
  assert.equal(pi.records("rewind-op").at(-1).leaf, there, "and a redo can go the other way");
});

test("the menu begins with what is least destructive, and counts", async () => {
  await start({ snapshot: snapshot("A"), list: { snapshots: [] }, status: { undo: 0, redo: 0 }, plan: { id: "A", changes: [{ path: "a", status: "M" }, { path: "b", status: "D" }, { path: "c", status: "D" }] } });
  await pi.prompt("hello");
  await rewindWith(undefined);
  const line = pi.dialogs.at(-1)?.find((l) => l.includes('before "hello"'));
  await rewindWith(line, "Back", undefined);
  const counts = "1 file written, 2 deleted";
  assert.deepEqual(pi.dialogs.at(-2), [
    'Rewind to before "hello"', "Restore conversation only (files stay)", "Choose files to restore…", `Restore files only: ${counts}`,
    `Restore files and conversation: ${counts}`, "Summarise from here (files stay)", "Back",
  ]);
});

test("the browser does not open by itself after a wait", async () => {
  await start({ snapshot: snapshot("A"), list: { snapshots: [] }, status: { undo: 0, redo: 0 } });
  await pi.emit("agent_start");
  pi.idle = false;
  await rewindWith();
  assert.deepEqual(pi.dialogs, []);
  assert.ok(pi.notes.some((n) => n.includes("the agent is at work; press Esc to stop it, then call /rewind")));
});

test("a preview is one scan, and shows the files with their counts before the lines", async () => {
  const patch = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one\n";
  const plan = { id: "A", changes: [{ path: "a.txt", status: "M", added: 1, removed: 1 }], kept: [{ path: "log", reason: "ignored" }], patch };
  await start({ snapshot: snapshot("A"), list: { snapshots: [] }, status: { undo: 0, redo: 0 }, plan });
  await pi.prompt("hello");
  pi.mode = "tui";
  const open = pi.commands.get("rewind")?.handler("", pi.ctx);
  let screen = "";
  for (let i = 0; i < 200 && !screen.includes("+one"); i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    screen = pi.panel?.render(100).join("\n") ?? "";
  }
  assert.match(screen, /Restore: 1 file written, \+1 −1[^]*restore a\.txt {2}\+1 −1[^]*stays: log \(ignored\)[^]*-two[^]*\+one/);
  assert.deepEqual(requests("plan"), [{ id: "A", patch: true, maxBytes: 200_000 }]);
  assert.deepEqual(requests("diff"), []);
  pi.panel?.handleInput("q");
  await open;
});

test("a checkpoint's name that is taken is asked about, and a store that fails is told", async () => {
  await start({ snapshot: snapshot("A"), pin: {}, pins: { pins: { good: "Z" } } });
  await pi.prompt("hello");
  const checkpoint = (name: string) => pi.commands.get("checkpoint")?.handler(name, pi.ctx);
  pi.answers = ["Keep it there, and take no checkpoint now"];
  await checkpoint("good");
  assert.deepEqual(requests("pin"), []);
  pi.answers = ["Give the name to the present state"];
  await checkpoint("good");
  assert.deepEqual(requests("pin"), [{ id: "A", name: "good" }]);
  await pi.emit("session_shutdown");
  await start({ snapshot: { $error: [1, "disk full"] } });
  await pi.prompt("hello");
  await checkpoint("better");
  assert.ok(pi.notes.some((n) => n === 'Rewind: checkpoint "better" could not be taken: disk full'), JSON.stringify(pi.notes));
});

test("a checkpoint can be restored with the conversation", async () => {
  const point = { label: "good", session: "S", entry: "e2", time: new Date().toISOString() };
  await start({ snapshot: snapshot("A"), list: { snapshots: [{ id: "A", time: point.time, skipped: [], points: [point] }] }, status: { undo: 0, redo: 0 }, plan: { id: "A" }, pins: { pins: { good: "A" } } });
  await pi.prompt("hello");
  await rewindWith(undefined);
  const star = pi.dialogs.at(-1)?.find((l) => l.includes("★ good"));
  await rewindWith(star, "Back", undefined);
  assert.ok(pi.dialogs.at(-2)?.includes("Restore conversation only (files stay)"), JSON.stringify(pi.dialogs.at(-2)));
});
