// Proves each integration on the real program, against a scripted model on loopback:
// install, points, sub-agents, list, restore, undo, uninstall.
// REWIND_AGENTS="claude codex" chooses; REWIND_PROGRAM is the binary.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { agents, files, program, remove, run, sandbox } from "./host.mjs";
import { startFakeModel } from "./model.mjs";

const chosen = process.env.REWIND_AGENTS?.split(/\s+/).filter(Boolean) ?? Object.keys(agents);
for (const group of ["acp", "others"]) if (chosen.includes(group)) chosen.splice(chosen.indexOf(group), 1); // acp.test.mjs, others.test.mjs

const first = [
  { text: "writing", tools: [{ name: "write", args: { path: "notes.txt", content: "one\n" } }] },
  { tools: [{ name: "bash", args: { command: "echo two >> notes.txt; echo made > by-shell.txt; echo ignored > .env" } }] },
  { text: "done 1" },
];
const second = [{ tools: [{ name: "bash", args: { command: "rm README.md; mv by-shell.txt moved.txt; echo three >> notes.txt" } }] }, { text: "done 2" }];

for (const name of chosen) {
  test(name, { skip: existsSync(program(name)) ? false : `SKIPPED: ${name} is not installed` }, async (t) => {
    const agent = agents[name];
    const root = mkdtempSync(path.join(os.tmpdir(), `agents-${name}-`));
    if (!process.env.REWIND_KEEP) t.after(() => remove(root));
    else t.after(() => console.error(`${name}: ${root}`));
    const sb = sandbox(root, process.env.REWIND_PROGRAM);
    const git = (...args) => execFileSync("git", args, { cwd: sb.repo, env: sb.env });
    writeFileSync(path.join(sb.repo, "README.md"), "seed\n");
    writeFileSync(path.join(sb.repo, ".gitignore"), ".env\n");
    git("init", "-q", "-b", "main"); git("add", "-A"); git("commit", "-q", "-m", "seed");
    const script = { "P1 create": first, "P2 delete": second };
    const model = await startFakeModel({ script, tools: agent.tools(sb.repo), full: true });
    t.after(() => model.close());
    agent.prepare(sb, model);

    const rewind = async (...args) => {
      const r = await run([process.env.REWIND_PROGRAM, ...args], { cwd: sb.repo, env: sb.env });
      assert.equal(r.code, 0, `rewind ${args.join(" ")}: ${r.stderr}`);
      return r.stdout;
    };
    /** Every point of the agent, oldest first. */
    const points = async () => {
      const all = JSON.parse(await rewind("list", "--json")).snapshots.flatMap((s) => s.points.map((p) => ({ ...p, id: s.id })));
      return all.filter((p) => p.agent === name).sort((a, b) => (a.time < b.time ? -1 : 1));
    };
    const told = (list) => list.map((p) => `${p.trigger}: ${p.prompt ?? ""}`);
    let asked = 0;
    const ask = async (prompt) => {
      const from = model.requests.length;
      const r = await agent.ask(sb, prompt, asked++ > 0);
      assert.equal(r.code, 0, `${name} ended with ${r.code}${r.late ? " (too late)" : ""}: ${r.stdout}\n${r.stderr}`);
      if (process.env.REWIND_SHOW) for (const q of model.requests.slice(from)) console.error(`# ${prompt}: ${q.key} ${q.step} ${q.tools}\n`, q.turns?.map((x) => x.slice(0, Number(process.env.REWIND_SHOW))).join("\n "));
      return { ...r, said: JSON.stringify(model.requests.slice(from).map((q) => q.body)) };
    };
    const here = () => { const all = files(sb.repo); delete all[".gitignore"]; return all; };
    const afterFirst = { "README.md": "seed\n", "notes.txt": "one\ntwo\n", "by-shell.txt": "made\n", ".env": "ignored\n" };
    const afterSecond = { "notes.txt": "one\ntwo\nthree\n", "moved.txt": "made\n", ".env": "ignored\n" };

    await t.test("install", async () => {
      for (const r of await agent.install(sb)) assert.equal(r.code, 0, `${r.stdout}\n${r.stderr}`);
    });

    let turns;
    await t.test("points: one before each prompt and one at its end, bound to session and prompt", async () => {
      await ask("P1 create");
      assert.deepEqual(here(), afterFirst);
      await ask("P2 delete");
      assert.deepEqual(here(), afterSecond);
      turns = await points();
      assert.deepEqual(told(turns), ["prompt: P1 create", "turn: P1 create", "prompt: P2 delete", "turn: P2 delete"]);
      assert.equal(new Set(turns.map((p) => p.session)).size, 1, "one session");
      assert.equal(turns[0].entry, turns[1].entry);
      assert.equal(turns[2].entry, turns[3].entry);
      assert.notEqual(turns[0].entry, turns[2].entry);
    });

    const doctor = async () => {
      const r = await run([process.env.REWIND_PROGRAM, "doctor", "--json"], { cwd: sb.repo, env: sb.env });
      const found = JSON.parse(r.stdout).findings.filter((f) => f.about === name);
      return Object.fromEntries(found.map((f) => [f.what, `${f.state}: ${f.text}`]));
    };
    await t.test("rewind doctor: sees the plugin, its version, and that its hooks come", async () => {
      const now = await doctor();
      assert.match(now.plugin ?? now.hooks, /^ok: /, JSON.stringify(now));
      assert.match(now["last hook"], /^ok: it came at /);
      // They came because a flag of the tests lets hooks run that nobody has trusted.
      if (name === "codex") assert.match(now.trust, /^todo: Codex skips these hooks.*UserPromptSubmit/);
    });

    await t.test("restore --prompt: what the agent's own rewind leaves is put right", async () => {
      await rewind("restore", "--yes", "--prompt", turns[2].entry);
      assert.deepEqual(here(), afterFirst);
      await rewind("undo", "--yes");
      assert.deepEqual(here(), afterSecond);
    });

    await t.test("a sub-agent makes no points of its own", async () => {
      Object.assign(script, agent.delegation ?? {
        "P3 delegate": [{ tools: [{ name: "task", args: { description: "sub work", prompt: "SUBTASK write a file" } }] }, { text: "main done" }, { text: "main done" }],
        "SUBTASK write": [{ tools: [{ name: "write", args: { path: "sub.txt", content: "from sub\n" } }] }, { text: "sub done" }],
      });
      await ask("P3 delegate");
      assert.equal(here()["sub.txt"], "from sub\n");
      const now = (await points()).slice(4);
      assert.deepEqual([...new Set(told(now))], ["prompt: P3 delegate", "turn: P3 delegate"]);
      assert.equal(now.filter((p) => p.trigger === "prompt").length, 1);
      await rewind("restore", "--yes", "--prompt", now[0].entry);
    });

    await t.test("commands: list, restore, undo from within the agent", async () => {
      // The last words of each command are the keys: the list of prompts stands before
      // them. Where commands are skills that the model loads, the command itself is.
      const plan = (command, lastWords, ...steps) => {
        const skill = agent.skill?.(`rewind-${command}`);
        script[skill ? agent.commands[command] : lastWords] = [...(skill ? [{ tools: [skill] }] : []), ...steps.map((c) => ({ tools: [{ name: "bash", args: { command: c } }] })), { text: "done" }];
      };
      plan("list", "Do nothing else.", ...(agent.lists ? ["rewind list --limit 30"] : []));
      const list = await ask(agent.commands.list);
      assert.match(list.said, /before “P2 delete”/, "the list is in what the model was given");
      assert.match(list.said, /Show the list to the user|show the list to the user/, "and what to do with it");
      plan("restore", "undo` takes it back", `rewind restore --dry-run prompt:${turns[2].entry}`, `rewind restore --yes prompt:${turns[2].entry}`);
      const restored = await ask(agent.commands.restore);
      assert.match(restored.said, /restore --dry-run ID/, "the model is told to show what it will do");
      assert.match(restored.said, /D(\\+t|\s+)moved\.txt/, "what would be deleted was shown");
      assert.deepEqual(here(), afterFirst);
      plan("undo", "would take the undo back", "rewind undo --yes");
      await ask(agent.commands.undo);
      assert.deepEqual(here(), afterSecond);
    });

    if (agent.mcp) {
      await t.test("rewind mcp: the agent looks up what there was, and restores only what it has shown", async () => {
        for (const r of await agent.mcp.add(sb)) assert.equal(r.code, 0, `${r.stdout}\n${r.stderr}`);
        const use = (tool, input) => ({ tools: [{ name: "mcp", args: { tool, input } }] });
        const id = `prompt:${turns[2].entry}`;
        script["P7 look"] = [use("list", { limit: 30 }), use("plan_restore", { id }),
          { tools: [{ name: "mcp", args: { tool: "restore", input: (body) => ({ plan: /plan\W{1,8}([0-9a-f]{12})\W/.exec(JSON.stringify(body))?.[1] }) } }] }, { text: "looked" }];
        const looked = await ask("P7 look");
        assert.match(looked.said, /moved\.txt/);
        assert.match(looked.said, /P2 delete/);
        assert.deepEqual(here(), afterFirst, "the plan that was shown was carried out");
        await rewind("undo", "--yes");
        for (const r of await agent.mcp.remove(sb)) assert.equal(r.code, 0, `${r.stdout}\n${r.stderr}`);
      });
    }

    await t.test("a failure is told where the user sees it, if the agent shows it anywhere, and kept from the model", async () => {
      const store = path.join(sb.repo, ".git/rewind");
      renameSync(store, `${store}-aside`);
      writeFileSync(store, "in the way of the store\n");
      try {
        script["P8 fails"] = [{ text: "done" }];
        const r = await ask("P8 fails");
        if (agent.tells) assert.match(r.stdout + r.stderr, /rewind: nothing was recorded/);
        assert.doesNotMatch(r.said, /nothing was recorded/);
      } finally {
        rmSync(store);
        renameSync(`${store}-aside`, store);
      }
      assert.match((await doctor())["last hook"], /^todo: .*failed/);
    });

    await t.test("uninstall: nothing is left, and no more points are made", async () => {
      for (const r of await agent.uninstall(sb)) assert.equal(r.code, 0, `${r.stdout}\n${r.stderr}`);
      const count = (await points()).length;
      script["P9 after"] = [{ text: "nothing to do" }];
      await ask("P9 after");
      assert.equal((await points()).length, count);
      for (const [file, content] of Object.entries(agent.own?.(files(sb.home)) ?? {})) assert.fail(`${file} is left: ${content.slice(0, 200)}`);
    });
  });
}

// The same by "rewind setup" in place of the agent's own plugin or extension, in a
// home of its own; taken back to the byte.
for (const name of chosen) {
  test(`${name}: rewind setup`, { skip: existsSync(program(name)) ? false : `SKIPPED: ${name} is not installed` }, async (t) => {
    const agent = agents[name];
    const root = mkdtempSync(path.join(os.tmpdir(), `setup-${name}-`));
    t.after(() => remove(root));
    const sb = sandbox(root, process.env.REWIND_PROGRAM);
    const model = await startFakeModel({ script: { "P1 create": first, "P9 after": [{ text: "nothing to do" }] }, tools: agent.tools(sb.repo), full: true });
    t.after(() => model.close());
    agent.prepare(sb, model);
    const state = path.join(sb.home, ".local/state/rewind");
    const config = () => Object.fromEntries(Object.entries(files(sb.home)).filter(([file]) => !path.join(sb.home, file).startsWith(state)));
    const rewind = async (...args) => {
      const r = await run([process.env.REWIND_PROGRAM, ...args], { cwd: sb.repo, env: sb.env });
      assert.equal(r.code, 0, `rewind ${args.join(" ")}: ${r.stderr}`);
      return r.stdout;
    };
    const before = config();
    await rewind("setup", "--yes", name);
    assert.notDeepEqual(config(), before);
    assert.match(await rewind("setup", "--yes", name), /nothing to do/);
    await rewind("setup", "--yes", "--remove", name);
    assert.deepEqual(config(), before, "taken back to the byte");

    await rewind("setup", "--yes", name);
    const asked = await agent.ask(sb, "P1 create", false);
    assert.equal(asked.code, 0, `${asked.stdout}\n${asked.stderr}`);
    const points = async () => JSON.parse(await rewind("list", "--json")).snapshots.flatMap((s) => s.points).filter((p) => p.agent === name);
    assert.deepEqual((await points()).sort((a, b) => (a.time < b.time ? -1 : 1)).map((p) => `${p.trigger}: ${p.prompt}`), ["prompt: P1 create", "turn: P1 create"]);
    await rewind("setup", "--yes", "--remove", name); // the agent may have changed its files meanwhile
    assert.doesNotMatch(JSON.stringify(Object.entries(config()).filter(([file]) => /settings\.json$|hooks|commands|plugins\/|skills|extensions\/rewind/.test(file) && !/backup|cache|sessions|history|log/.test(file))), /hook (claude|codex|copilot|gemini|opencode|qwen) /);
    await agent.ask(sb, "P9 after", true);
    assert.equal((await points()).length, 2, "no more points");
  });
}
