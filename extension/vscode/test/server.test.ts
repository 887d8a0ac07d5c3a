// The server's process: that it is started again, and what is said of it.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { NoProgram } from "../src/program.ts";
import { Server } from "../src/server.ts";

const FAKE = path.resolve(import.meta.dirname, "../../pi/test/fake-server.mjs");

interface Tried {
  server: Server;
  told: string[];
  log: () => string[];
  rules: (rules: object) => void;
  clock: { now: number };
}

/** A server of which the answers are given. They can change with its next start. */
function tried(t: TestContext, rules: object, program?: () => string): Tried {
  const dir = mkdtempSync(path.join(tmpdir(), "server-"));
  const log = path.join(dir, "log");
  const env: Record<string, string> = { FAKE_LOG: log, FAKE_RULES: JSON.stringify(rules) };
  const told: string[] = [];
  const clock = { now: 1 };
  writeFileSync(log, "");
  const server = new Server({ program: program ?? (() => FAKE), dir: "/w", client: "test", tell: (m) => told.push(m), changed: () => {}, env, now: () => clock.now });
  t.after(async () => {
    await server.close();
    rmSync(dir, { recursive: true });
  });
  return { server, told, clock, log: () => readFileSync(log, "utf8").split("\n"), rules: (r) => void (env["FAKE_RULES"] = JSON.stringify(r)) };
}

const NEW = { cat: { $error: [-32602, "id is missing"] } };

test("a server that dies is started again, looks once more, and says one sentence", async (t) => {
  const { server, told, log, rules } = tried(t, { ...NEW, list: "$die" });
  await server.request("status");
  rules({ ...NEW, list: { snapshots: [] } });
  assert.deepEqual(await server.request("list"), { snapshots: [] });
  assert.equal(log().filter((l) => l === "start").length, 2);
  assert.deepEqual(told, ["The program rewind had ended, and was started again."]);
});

test("what changes files is never sent twice", async (t) => {
  const { server, log } = tried(t, { ...NEW, restore: "$die", snapshot: "$die" });
  for (const method of ["restore", "snapshot"]) await assert.rejects(server.request(method, {}), /may be done in part/);
  assert.equal(log().filter((l) => /^(restore|snapshot) /.test(l)).length, 2);
});

test("another version is said after a new start", async (t) => {
  const { server, told, rules } = tried(t, { ...NEW, list: "$die" });
  await server.request("status");
  rules({ ...NEW, initialize: { protocol: 1, version: "v9", root: "/", git: true, warnings: [] } });
  await server.request("list");
  assert.deepEqual(told, ["The program rewind had ended, and was started again: it is version v9 now."]);
});

test("what another program answers is one sentence, and what is no JSON is passed over", async (t) => {
  for (const initialize of [{}, { root: 7 }, 5]) {
    const odd = tried(t, { ...NEW, initialize });
    await assert.rejects(odd.server.request("status"), /answers what this extension does not know/);
    assert.equal(odd.server.trouble?.kind, "old");
  }
  const bare = tried(t, { ...NEW, initialize: { protocol: 1, version: "v9", root: "/" }, list: { $noise: "no { JSON\nnull\n7\n[]\n\"text\"\n{\"id\":\"1\"}\n" } });
  assert.deepEqual(await bare.server.request("list"), {});
  assert.deepEqual(bare.told, []);
});

test("a program that is missing, too old, or refuses is told apart, and tried again later", async (t) => {
  const missing = tried(t, {}, () => {
    throw new NoProgram("not there");
  });
  await assert.rejects(missing.server.request("status"), /not there/);
  assert.deepEqual(missing.server.trouble, { kind: "missing", message: "not there" });
  const gone = tried(t, {}, () => "/nowhere/rewind");
  await assert.rejects(gone.server.request("status"));
  assert.equal(gone.server.trouble?.kind, "missing");
  const old = tried(t, { cat: { $error: [-32601, "there is no method"] } });
  await assert.rejects(old.server.request("status"), /too old .*version fake/);
  assert.equal(old.server.trouble?.kind, "old");
  const refused = tried(t, { initialize: { $error: [1, "the home directory is not recorded"] } });
  await assert.rejects(refused.server.request("status"));
  assert.deepEqual(refused.server.trouble, { kind: "refused", message: "the home directory is not recorded" });
  const starts = () => refused.log().filter((l) => l === "start").length;
  await assert.rejects(refused.server.request("status"));
  assert.equal(starts(), 1, "not at once");
  refused.clock.now += 1_001;
  refused.rules(NEW);
  await refused.server.request("status");
  assert.equal(starts(), 2);
  assert.equal(refused.server.trouble, undefined);
});
