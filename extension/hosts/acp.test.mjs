// Proves `rewind acp` between the protocol's own SDK, as an editor, and real agents, each
// asked by a scripted model on loopback: two prompts, their points, a restore, and that
// both sides got every byte that the other wrote.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { converse } from "./acp.mjs";
import { agents, files, nodeDir, others, program, run, sandbox, speaking } from "./host.mjs";
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
  test(`acp: ${name}`, { skip: existsSync(program(name)) ? false : `SKIPPED: ${name} is not installed` }, async (t) => {
    const root = mkdtempSync(path.join(os.tmpdir(), `acp-${name}-`));
    if (!process.env.REWIND_KEEP) t.after(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
    const sb = sandbox(root, process.env.REWIND_PROGRAM);
    writeFileSync(path.join(sb.repo, "README.md"), "seed\n");
    execFileSync("git", ["init", "-q", "-b", "main"], { cwd: sb.repo, env: sb.env });
    const a = agents[name] ?? others[name];
    const model = await startFakeModel({ script, tools: a.tools(sb.repo) });
    t.after(() => model.close());
    a.prepare(sb, model);

    const agent = [...(["opencode", "kilo"].includes(name) ? [] : [path.join(nodeDir, "node")]), program(name), ...args].map((a) => `'${a}'`).join(" ");
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
