// Proves what docs/agents.md says of agents that have no plugin of ours: Cline by hooks
// of its own, Continue's command line under `rewind run`. A scripted model answers.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { agents, files, others, program, put, remove, run, sandbox } from "./host.mjs";
import { startFakeModel } from "./model.mjs";

const step = (command) => ({ tools: [{ name: "bash", args: { command } }] });
const script = { "P1 create": [step("echo one > notes.txt; echo made > by-shell.txt"), { text: "done 1" }], "P2 delete": [step("rm README.md"), { text: "done 2" }] };

/** A sandbox with an agent, its model, and the program. */
async function place(t, name, tools) {
  const root = mkdtempSync(path.join(os.tmpdir(), `others-${name}-`));
  if (!process.env.REWIND_KEEP) t.after(() => remove(root));
  const sb = sandbox(root, process.env.REWIND_PROGRAM);
  writeFileSync(path.join(sb.repo, "README.md"), "seed\n");
  execFileSync("git", ["init", "-q", "-b", "main"], { cwd: sb.repo, env: sb.env });
  const model = await startFakeModel({ script, tools });
  t.after(() => model.close());
  const does = async (...argv) => {
    const r = await run(argv, { cwd: sb.repo, env: sb.env });
    assert.equal(r.code, 0, `${argv.join(" ")}: ${r.stdout}\n${r.stderr}`);
    return r.stdout;
  };
  const points = async () => JSON.parse(await does("rewind", "list", "--json")).snapshots.flatMap((s) => s.points.map((p) => ({ ...p, id: s.id }))).sort((a, b) => (a.time < b.time ? -1 : 1));
  return { sb, model, does, points };
}

const skipped = (name) => (existsSync(program(name, others[name]?.command)) ? false : `SKIPPED: ${name} is not installed`);

test("cline: its hooks make points, and a tool waits for its own", { skip: skipped("cline") }, async (t) => {
  const { sb, model, does, points } = await place(t, "cline", others.cline.tools());
  const own = path.join(sb.home, ".cline/hooks/TaskComplete"); // the user has one already, which goes on being called
  put(own, "#!/bin/sh\ntouch .git/own\n");
  const hooks = () => files(path.join(sb.home, ".cline"));
  const before = hooks();
  await does("rewind", "setup", "--yes", "cline");
  await does("rewind", "setup", "--yes", "--remove", "cline");
  assert.deepEqual(hooks(), before, "taken back to the byte");
  await does("rewind", "setup", "--yes", "cline");
  assert.match(await does("rewind", "setup", "--yes", "cline"), /nothing to do/);
  // A tool waits for its hook, and so for the point that the start of the task began.
  const tool = path.join(sb.home, ".cline/hooks/PreToolUse");
  put(tool, readFileSync(tool, "utf8").replace("exec rewind", "sleep 2; test -e notes.txt || touch .git/waited; exec rewind"));
  chmodSync(tool, 0o755);
  const cline = program("cline");
  assert.equal((await others.cline.prepare(sb, model)).code, 0);
  await does(cline, "P1 create");
  assert.ok(existsSync(path.join(sb.repo, ".git/waited")), "the tool did its work before its hook had ended");
  await does(cline, "P2 delete");
  const all = await points();
  assert.deepEqual(all.map((p) => `${p.agent} ${p.trigger}`), ["cline prompt", "cline turn", "cline prompt", "cline turn"]);
  assert.equal(new Set(all.map((p) => p.session)).size, 2);
  assert.equal(all[0].session, all[1].session);
  await does("rewind", "restore", "--yes", all[0].id);
  assert.deepEqual(files(sb.repo), { "README.md": "seed\n" }, "the point before the first prompt has nothing of its turn");
  await does("rewind", "restore", "--yes", all[1].id);
  assert.deepEqual(files(sb.repo), { "README.md": "seed\n", "notes.txt": "one\n", "by-shell.txt": "made\n" });
  assert.ok(existsSync(path.join(sb.repo, ".git/own")), "the user's own script is called too");
  const found = await run(["rewind", "doctor", "--json"], { cwd: sb.repo, env: sb.env });
  const doctor = Object.fromEntries(JSON.parse(found.stdout).findings.filter((f) => f.about === "cline").map((f) => [f.what, f.state]));
  assert.equal(doctor["last hook"], "ok", found.stdout);
  put(tool, readFileSync(tool, "utf8").replace(/sleep 2;[^;]*; /, ""));
  await does("rewind", "setup", "--yes", "--remove", "cline");
  assert.deepEqual(Object.keys(hooks()).filter((f) => f.startsWith("hooks/")), ["hooks/TaskComplete"]);
});

test("continue: rewind run makes a point before a prompt and after its turn", { skip: skipped("continue") }, async (t) => {
  const { sb, model, does, points } = await place(t, "continue", { bash: (a) => ({ name: "Bash", args: { command: a.command } }) });
  put(path.join(sb.home, ".continue/config.yaml"), `name: t\nversion: 0.0.1\nschema: v1\nmodels:\n  - {name: fake, provider: openai, model: fake-1, apiKey: x, apiBase: "${model.origin}/v1", roles: [chat], capabilities: [tool_use], useResponsesApi: false}\n`);
  for (const words of Object.keys(script)) await does("rewind", "run", "--", program("continue", "cn"), "-p", "--auto", words);
  const all = await points();
  assert.deepEqual(all.map((p) => p.trigger), ["prompt", "turn", "prompt", "turn"]);
  assert.match(all[3].prompt, /P2 delete/);
  assert.deepEqual(files(sb.repo), { "notes.txt": "one\n", "by-shell.txt": "made\n" });
  await does("rewind", "restore", "--yes", "--prompt", all[2].entry);
  assert.deepEqual(files(sb.repo), { "README.md": "seed\n", "notes.txt": "one\n", "by-shell.txt": "made\n" });
});

// What docs/comparison.md says of OpenCode's own undo, by the server that its terminal asks too.
test("opencode: its own undo leaves ignored, large and empty things, which rewind restores", { skip: skipped("opencode") }, async (t) => {
  const { sb, model, does, points } = await place(t, "opencode", agents.opencode.tools());
  const work = "echo x > c.txt; rm README.md; echo y >> a.txt; echo z > .env; rm -r empty; head -c 3000000 /dev/zero > big";
  script["P3 work"] = [step(work), { text: "done 3" }];
  await does("sh", "-c", "echo a > a.txt; echo .env > .gitignore; mkdir empty; git add -A; git commit -q -m seed; echo secret > .env");
  const before = files(sb.repo);
  agents.opencode.prepare(sb, model);
  await does("rewind", "snapshot", "-q", "-m", "before");
  const server = spawn(program("opencode"), ["serve", "--hostname", "127.0.0.1", "--port", "0"], { cwd: sb.repo, env: sb.env, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => server.kill("SIGKILL"));
  const at = await new Promise((resolve) => {
    let said = "";
    for (const from of [server.stdout, server.stderr]) from.setEncoding("utf8").on("data", (d) => { said += d; const m = /http:\/\/[\d.]+:\d+/.exec(said); if (m) resolve(m[0]); });
  });
  const ask = async (way, body) => (await fetch(`${at}/session${way}?directory=${encodeURIComponent(sb.repo)}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();
  const { id } = await ask("", {});
  const answer = await ask(`/${id}/message`, { parts: [{ type: "text", text: "P3 work" }] });
  assert.ok(existsSync(path.join(sb.repo, "c.txt")), JSON.stringify(answer));
  await ask(`/${id}/revert`, { messageID: answer.info.parentID });
  const after = files(sb.repo);
  assert.deepEqual([after["c.txt"], after["README.md"], after["a.txt"]], [undefined, "seed\n", "a\n"]);
  assert.deepEqual([after[".env"], after.big, existsSync(path.join(sb.repo, "empty"))], ["z\n", "(big)", false]);
  await does("rewind", "restore", "--yes", "--ignored", (await points())[0].id);
  assert.deepEqual(files(sb.repo), before);
  assert.ok(existsSync(path.join(sb.repo, "empty")));
});
