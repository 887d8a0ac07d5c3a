// Proves `rewind acp` between the protocol's own SDK, as an editor, and real agents, each
// asked by a scripted model on loopback: two prompts, their points, a restore, and that
// both sides got every byte that the other wrote.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { converse, sdk } from "./acp.mjs";
import { agents, files, installed, nodeDir, others, program, remove, run, sandbox, speaking } from "./host.mjs";
import { startFakeModel } from "./model.mjs";

const script = {
  "P1 create": [
    { text: "writing", tools: [{ name: "write", args: { path: "notes.txt", content: "one\n" } }] },
    { tools: [{ name: "bash", args: { command: "echo two >> notes.txt; echo made > by-shell.txt" } }] },
    { text: "done 1" },
  ],
  "P2 delete": [{ tools: [{ name: "bash", args: { command: "rm README.md; mv by-shell.txt moved.txt" } }] }, { text: "done 2" }],
};

for (const [name, args] of Object.entries(speaking)) {
  const a = agents[name] ?? others[name], file = program(name, a.command);
  test(`acp: ${name}`, { skip: existsSync(file) ? false : `SKIPPED: ${name} is not installed` }, async (t) => {
    const root = mkdtempSync(path.join(os.tmpdir(), `acp-${name}-`));
    if (!process.env.REWIND_KEEP) t.after(() => remove(root));
    const sb = sandbox(root, process.env.REWIND_PROGRAM);
    writeFileSync(path.join(sb.repo, "README.md"), "seed\n");
    execFileSync("git", ["init", "-q", "-b", "main"], { cwd: sb.repo, env: sb.env });
    const model = await startFakeModel({ script, tools: a.tools(sb.repo) });
    t.after(() => model.close());
    await a.prepare(sb, model);

    const agent = [...(["opencode", "kilo", "cline"].includes(name) ? [] : [path.join(nodeDir, "node")]), file, ...args].map((a) => `'${a}'`).join(" ");
    writeFileSync(path.join(root, "inner.sh"), `tee "${root}/in.inner" | ${agent} | tee "${root}/out.inner"\n`);
    writeFileSync(path.join(root, "outer.sh"), `tee "${root}/in.outer" | rewind acp -- bash -o pipefail "${root}/inner.sh" | tee "${root}/out.outer"\n`);
    const r = await converse(["bash", path.join(root, "outer.sh")], { cwd: sb.repo, env: sb.env, prompts: Object.keys(script) });
    assert.deepEqual(r.stops, ["end_turn", "end_turn"], r.stderr);
    for (const way of ["in", "out"]) {
      const [inner, outer] = ["inner", "outer"].map((end) => readFileSync(path.join(root, `${way}.${end}`)));
      assert.ok(inner.length > 500 && inner.equals(outer), `${way}: ${outer.length} bytes became ${inner.length}`);
    }

    const rewind = async (...words) => {
      const done = await run([process.env.REWIND_PROGRAM, ...words], { cwd: sb.repo, env: sb.env });
      assert.equal(done.code, 0, done.stderr);
      return done.stdout;
    };
    const points = JSON.parse(await rewind("list", "--json")).snapshots.flatMap((s) => s.points).sort((a, b) => (a.time < b.time ? -1 : 1));
    assert.deepEqual(points.map((p) => `${p.trigger}: ${p.prompt}`), ["prompt: P1 create", "turn: P1 create", "prompt: P2 delete", "turn: P2 delete"]);
    assert.deepEqual([...new Set(points.map((p) => p.session))], [r.sessionId]);
    console.log(`# ${name}: its points have the agent ${points[0].agent}`);
    assert.deepEqual(files(sb.repo), { "notes.txt": "one\ntwo\n", "moved.txt": "made\n" });
    await rewind("restore", "--yes", "--prompt", points[2].entry);
    assert.deepEqual(files(sb.repo), { "README.md": "seed\n", "notes.txt": "one\ntwo\n", "by-shell.txt": "made\n" });
  });
}

test("acp: a turn of version 2 ends when its agent is idle", { skip: existsSync(path.join(installed, "acp")) ? false : "SKIPPED: the SDK is not installed" }, async (t) => {
  const root = mkdtempSync(path.join(os.tmpdir(), "acp-v2-"));
  t.after(() => remove(root));
  const sb = sandbox(root, process.env.REWIND_PROGRAM);
  const { client, methods, ndJsonStream } = await sdk("@agentclientprotocol/sdk/experimental/v2");
  const child = spawn("rewind", ["acp", "--", path.join(nodeDir, "node"), fileURLToPath(new URL("acp-v2.mjs", import.meta.url))], { cwd: sb.repo, env: { ...sb.env, REWIND_AGENTS_DIR: installed }, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  let idle;
  const rests = new Promise((resolve) => (idle = resolve));
  await client({ name: "rewind-test" })
    .onNotification(methods.client.session.update, ({ params }) => { if (params.update.state === "idle") idle(); })
    .connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: 2, info: { name: "rewind-test", version: "1" }, capabilities: {} });
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd: sb.repo, mcpServers: [] });
      await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "words of v2" }] });
      await rests;
    });
  child.stdin.end();
  assert.equal(await ended, 0);
  const list = await run(["rewind", "list", "--json"], { cwd: sb.repo, env: sb.env });
  const points = JSON.parse(list.stdout).snapshots.flatMap((s) => s.points.map((p) => [p.trigger, p.prompt, p.session, p.agent, s.changed?.files ?? 0].join(" ")));
  assert.deepEqual(points.sort(), ["prompt words of v2 S2 v2-agent 0", "turn words of v2 S2 v2-agent 1"]);
});
