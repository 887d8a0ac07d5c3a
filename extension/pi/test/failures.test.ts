// What goes wrong around the extension must be told, and must not stop Pi.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, test } from "node:test";
import { Client } from "../src/client.ts";
import { Server } from "../src/server.ts";
import { FakePi } from "./fake-pi.ts";

const SERVER = path.join(import.meta.dirname, "fake-server.mjs");
const KEEP = "Conversation only (keep current files)";
const VARIABLES = ["REWIND_BINARY", "PI_CODING_AGENT_DIR", "FAKE_RULES"];
const snapshot = (id: string) => ({ id, reused: false, changed: 1, skipped: [], bridged: true });
let dir = "";
const open: FakePi[] = [];

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "rewind-unit-"));
});

afterEach(async () => {
  for (const pi of open.splice(0)) await pi.emit("session_shutdown");
  for (const name of VARIABLES) delete process.env[name];
  rmSync(dir, { recursive: true });
});

async function start(rules: object): Promise<FakePi> {
  Object.assign(process.env, { REWIND_BINARY: SERVER, PI_CODING_AGENT_DIR: dir, FAKE_RULES: JSON.stringify({ exists: { ids: ["A", "U"] }, ...rules }) });
  const pi = new FakePi();
  open.push(pi);
  await pi.emit("session_start", { reason: "startup" });
  return pi;
}

/** Runs a module in a process that has no more files to open. */
function withoutFiles(code: string): { status: number | null; out: string } {
  const file = path.join(dir, "run.mjs");
  const exhaust = `import { openSync } from "node:fs";\nconst all = [];\ntry { for (;;) all.push(openSync("/dev/null")); } catch {}\n`;
  writeFileSync(file, `${exhaust}${code}`);
  const run = spawnSync("sh", ["-c", 'ulimit -n 64; exec "$0" "$1"', process.execPath, file], { encoding: "utf8" });
  return { status: run.status, out: run.stdout + run.stderr };
}

test("where no more files may be open the extension says so, and Pi lives on", () => {
  const from = (name: string) => JSON.stringify(pathToFileURL(path.join(import.meta.dirname, "..", name)).href);
  const { status, out } = withoutFiles(`
    import { Server } from ${from("src/server.ts")};
    const told = [];
    const server = new Server({ binary: process.execPath, env: {}, dir: "/", warn: (text) => told.push(text) });
    const failed = await server.request("snapshot").catch((error) => error.message);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.close();
    console.log("alive", told.length, failed);
  `);
  assert.equal(status, 0, out);
  assert.match(out, /^alive 1 Rewind is off here: spawn .*EMFILE.*Your messages are not recorded/m);
});

test("a program that cannot be started for a reason of its own is told once, with what that means", async () => {
  const told: string[] = [];
  const server = new Server({ binary: SERVER, env: { "A\0": "x" }, dir: "/", warn: (text) => told.push(text) });
  for (let i = 0; i < 2; i++) await assert.rejects(server.request("snapshot"), /^RewindError: Rewind is off here: /);
  assert.equal(told.length, 1);
  assert.ok(server.off);
});

test("a line that is JSON and no message is passed over", async () => {
  const file = path.join(dir, "program.mjs");
  writeFileSync(file, `console.log("null"); console.log("7"); console.log("[]"); console.log('{"jsonrpc":"2.0","id":1,"result":"here"}');`);
  const client = new Client({ binary: process.execPath, args: [file] });
  assert.equal(await client.request("x"), "here");
  await client.close();
});

test("a session that cannot be written hinders no tool, is told, and counts no points", async () => {
  const pi = await start({ snapshot: snapshot("A") });
  const { append } = pi;
  pi.append = (entry) => {
    if (entry.customType) throw new Error("ENOSPC: no space left on device");
    return append.call(pi, entry);
  };
  await pi.prompt("hello"); // a handler that throws at tool_call forbids the tool
  assert.ok(pi.notes.some((n) => n.includes("the session cannot be written") && n.includes("ENOSPC")), pi.notes.join("\n"));
  assert.match(pi.status ?? "", /^◆ 0 points/);
  pi.append = append;
  const { user, assistant } = await pi.prompt("again");
  assert.deepEqual(pi.records("rewind-turn").flatMap((r) => r.bindings), [[user.id, 0], [assistant.id, 0]]);
});

test("a fork of which nothing is known begins with nothing that was left for an earlier one", async () => {
  const earlier = { type: "custom", customType: "rewind-fork-pending", data: { v: 2, current: "A", undo: "U" } };
  let pi = await start({ snapshot: { $error: [1, "disk full"] }, exists: { $error: [1, "disk full"] } });
  pi.append(earlier);
  await pi.prompt("hello");
  pi.answers = [KEEP];
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: "e2" }), [undefined]);
  assert.deepEqual(pi.records("rewind-fork-pending").at(-1), { v: 2 });
  pi.answers = [KEEP];
  await pi.emit("session_before_fork", { entryId: "e2" });
  assert.equal(pi.records("rewind-fork-pending").length, 2, "it is said once");
  await pi.emit("session_shutdown");

  pi = await start({ initialize: { $error: [1, "not here"] } });
  pi.append(earlier);
  assert.deepEqual(await pi.emit("session_before_fork", { entryId: "e1" }), [undefined]);
  assert.deepEqual(pi.records("rewind-fork-pending").at(-1), { v: 2 }, "where rewind is off");
});

test("the plugin of OpenCode rejects no message and no tool, whatever goes wrong", async () => {
  const plugin = pathToFileURL(path.join(import.meta.dirname, "../../opencode/plugins/rewind.js")).href;
  const { status, out } = withoutFiles(`
    import { Rewind } from ${JSON.stringify(plugin)};
    const told = [];
    const client = { tui: { showToast: ({ body }) => { told.push(body.message); throw new Error("no screen") } } };
    process.env.REWIND_BINARY = process.execPath;
    const hooks = await Rewind({ directory: "/", worktree: "/", client });
    await hooks["chat.message"]({ sessionID: "s" }, { parts: [] });
    await hooks["tool.execute.before"]({ sessionID: "s", tool: "bash" }, { args: { n: 1n } });
    await hooks["chat.message"]({ sessionID: "s" }, { parts: "of another version" });
    await hooks.event({});
    console.log("alive", told.length, told[0]);
  `);
  assert.equal(status, 0, out);
  assert.match(out, /^alive 4 rewind: nothing was recorded: spawn .*EMFILE/m);
});
