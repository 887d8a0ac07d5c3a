// Where the extension runs, and what goes wrong there.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { ALL, bindings, CODE, flow, KEEP, SCRIPT, UNDO } from "./flow.ts";
import { startLlm } from "./llm.ts";
import { Pi } from "./rpc.ts";
import { BINARY, EXTENSION, readSession, Sandbox, versions } from "./sandbox.ts";
import { alive } from "./terminal.ts";

flow("works in a directory without git", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer(ALL);
  await pi.fork("P2 edit");
  assert.equal(box.read("notes.txt"), "one\n");
  assert.equal(box.read(".git"), undefined);
}, { git: false });

flow("in a subdirectory the whole repository is recorded", async ({ pi, box }) => {
  box.write("outside.txt", "before\n");
  await pi.prompt("P1 create");
  box.write("outside.txt", "after\n");
  await pi.prompt("P2 edit");
  pi.answer(ALL);
  await pi.fork("P1 create");
  assert.equal(box.read("outside.txt"), "before\n");
  assert.equal(box.read("deep/down/notes.txt"), undefined);
}, { sub: "deep/down" });

flow("two sessions and a linked worktree share a store and not their files", async ({ pi, box, version }) => {
  const linked = path.join(box.root, "linked");
  box.git("worktree", "add", "-q", linked, "-b", "side");
  const other = new Pi(version, Object.assign(Object.create(box) as Sandbox, { cwd: linked }));
  const third = new Pi(version, box);
  try {
    await Promise.all([pi.prompt("P1 create"), other.prompt("P1 create")]);
    await third.prompt("P3 more");
    await Promise.all([pi.prompt("P2 edit"), other.prompt("P2 edit")]);
    other.answer(ALL);
    await other.fork("P2 edit");
    assert.equal(box.read("notes.txt"), "two\n");
    assert.equal(box.read("../linked/notes.txt"), "one\n");
    pi.answer(ALL);
    await pi.fork("P2 edit");
    assert.equal(box.read("notes.txt"), "one\n");
    other.settled();
    third.settled();
  } finally {
    await Promise.all([other.stop(), third.stop()]);
  }
  box.git("fsck", "--strict");
});

flow("a point of another branch is restored after a question only", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  box.git("switch", "-q", "-c", "other");
  await pi.prompt("P2 edit");
  pi.answer(CODE, undefined);
  assert.equal((await pi.fork("P1 create"))["cancelled"], true);
  assert.match(pi.dialogs.at(-1)?.message ?? "", /branch main; you are on other/);
  assert.equal(box.read("notes.txt"), "two\n");
  pi.answer(CODE, true);
  await pi.fork("P1 create");
  assert.equal(box.read("notes.txt"), undefined);
  assert.equal(box.git("symbolic-ref", "--short", "HEAD"), "other");
});

flow("an undo and a HEAD without a branch are asked about too", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer(CODE);
  await pi.fork("P2 edit");
  box.git("switch", "-q", "-c", "other");
  const id = (await pi.user("P1 create")).id;
  pi.answer("↩ undo", "Undo files", false, undefined);
  await pi.command("/rewind");
  assert.match(pi.dialogs.at(-2)?.message ?? "", /branch main; you are on other/);
  assert.match(pi.dialogs.at(-1)?.options[0] ?? "", /↩ undo the last file rewind$/, "back in the list");
  pi.answer(UNDO, "Undo it", false);
  assert.equal((await pi.drive("d:nav", { id }))["cancelled"], true);
  pi.answer(UNDO, "Undo it", false);
  assert.equal((await pi.fork("P1 create"))["cancelled"], true);
  assert.equal(box.read("notes.txt"), "one\n");
  box.git("checkout", "-q", "--detach");
  pi.answer(UNDO, "Undo it", true);
  assert.equal((await pi.drive("d:nav", { id }))["cancelled"], true);
  assert.match(pi.dialogs.at(-1)?.message ?? "", /branch main; you are on no branch/);
  assert.equal(box.read("notes.txt"), "two\n");
});

flow("a missing binary is one notice, and Pi goes on", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  assert.equal(box.read("notes.txt"), "two\n");
  assert.equal(pi.notes.filter((n) => n.message.includes("Rewind is off")).length, 1);
  await pi.fork("P2 edit");
  assert.equal(pi.dialogs.length, 0);
}, { binary: "/nonexistent/rewind" });

flow("a snapshot that fails warns, stops nothing, and files can still be kept", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  // The store becomes unreadable: every request fails from here on.
  writeFileSync(path.join(box.repo, ".git/rewind/store.db"), "not a store");
  await pi.prompt("P2 edit");
  assert.equal(box.read("notes.txt"), "two\n");
  assert.ok(pi.notes.some((n) => n.type === "warning" && n.message.includes("snapshot failed")), JSON.stringify(pi.notes));
  assert.match(pi.status.get("rewind") ?? "", /⚠ rewind: /);
  pi.answer("Keep current files");
  assert.equal((await pi.drive("d:nav", { id: (await pi.user("P2 edit")).id }))["cancelled"], false);
  pi.answer(KEEP);
  assert.equal((await pi.fork("P1 create"))["cancelled"], false);
});

flow("the program is found by the setting", async ({ pi }) => {
  await pi.prompt("P1 create");
  await pi.state();
  assert.match(pi.status.get("rewind") ?? "", /3 points \/ 2 snapshots/, JSON.stringify(pi.notes));
}, { settings: { rewind: { binary: BINARY } }, binary: "" });

flow("settings that are wrong are named and the defaults used", async ({ pi }) => {
  await pi.prompt("P1 create");
  const said = pi.notes.map((n) => n.message).join("\n");
  assert.match(said, /rewind\.silentCheckpoints must be true or false/);
  assert.match(said, /rewind\.retention\.maxSnapshots must be a number above 0/);
  assert.match(said, /rewind\.typo is not a setting/);
  assert.match(pi.status.get("rewind") ?? "", /3 points/);
}, { settings: { rewind: { silentCheckpoints: "yes", retention: { maxSnapshots: -1 }, typo: 1 } } });

flow("silent mode says nothing that went well", async ({ pi }) => {
  await pi.prompt("P1 create");
  pi.answer(ALL);
  await pi.fork("P1 create");
  assert.equal(pi.status.get("rewind"), undefined);
  assert.deepEqual(pi.notes, []);
}, { settings: { rewind: { silentCheckpoints: true } } });

flow("what is filtered is named and never deleted", async ({ pi, box }) => {
  box.write("node_modules/x/index.js", "1\n");
  box.write("big.bin", "x".repeat(11 << 20));
  for (let i = 0; i < 200; i++) box.write(`many/${i}.txt`, "1\n");
  for (let i = 0; i < 199; i++) box.write(`fewer/${i}.txt`, "1\n");
  await pi.prompt("P1 create");
  const said = pi.notes.map((n) => n.message).join("\n");
  assert.match(said, /node_modules/);
  assert.match(said, /big\.bin/);
  assert.match(said, /many/);
  assert.doesNotMatch(said, /fewer|many\//);
  for (const dir of ["many", "fewer"]) box.write(`${dir}/0.txt`, "2\n");
  pi.answer(ALL);
  await pi.fork("P1 create");
  assert.equal(box.read("fewer/0.txt"), "1\n");
  assert.equal(box.read("many/0.txt"), "2\n", "what is left out is not put back");
  assert.equal(box.read("many/199.txt"), "1\n");
  assert.equal(box.read("notes.txt"), undefined);
  assert.equal(box.read("node_modules/x/index.js"), "1\n");
  assert.equal(box.read("big.bin")?.length, 11 << 20);
}, { settings: { rewind: { smartFilter: true } } });

flow("retention keeps what the session needs", async ({ pi, box, version }) => {
  for (let i = 0; i < 3; i++) {
    await pi.prompt("P1 create");
    await pi.prompt("P2 edit");
  }
  pi.answer("Restore files to that point");
  await pi.drive("d:nav", { id: (await pi.user("P2 edit")).id });
  assert.equal(box.read("notes.txt"), "one\n");
  await pi.stop();
  const again = new Pi(version, box, ["--session", box.sessions()[0] as string]);
  try {
    await again.prompt("P3 more");
    again.answer("Undo last file rewind", "Undo it");
    await again.drive("d:nav", { id: (await again.user("P2 edit")).id });
    assert.equal(box.read("notes.txt"), "two\n");
    again.settled();
  } finally {
    await again.stop();
  }
}, { settings: { rewind: { retention: { maxSnapshots: 1, scanMode: "repo-sessions" } } } });

flow("retention drops at the end of a session what is too much of it", async ({ pi, box, version }) => {
  for (let i = 0; i < 4; i++) {
    await pi.prompt("P1 create");
    await pi.prompt("P2 edit");
  }
  const count = () => (JSON.parse(box.rewind("list", "--json")) as { snapshots: object[] }).snapshots.length;
  box.write("mine.txt", "1\n");
  await pi.prompt("P3 more");
  assert.ok(count() >= 5, `${count()} snapshots`);
  await pi.stop();
  assert.equal(count(), 2);
  const again = new Pi(version, box);
  await again.stop();
}, { settings: { rewind: { retention: { maxSnapshots: 2 } } } });

flow("a program that was killed is started again, and nothing more is lost than one point", async ({ pi }) => {
  await pi.prompt("P1 create");
  for (const pid of children(pi.pid)) process.kill(pid, "SIGKILL");
  await pi.prompt("P2 edit");
  await pi.prompt("P3 more");
  const { entries } = await pi.state();
  assert.ok(bindings(entries).has((await pi.user("P3 more")).id), JSON.stringify(pi.notes));
  assert.equal(children(pi.pid).length, 1);
});

flow("other extensions can ask for a fork without a dialog, and for points", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.drive("d:emit", { event: "rewind:fork-preference", data: { mode: "conversation-only", source: "stranger" } });
  pi.answer(undefined);
  await pi.fork("P1 create");
  await pi.drive("d:emit", { event: "rewind:fork-preference", data: { mode: "conversation-only", source: "fork-from-first" } });
  box.write("now.txt", "now\n");
  const leaf = (await pi.state()).entries.findLast((e) => e.message?.role === "toolResult")?.id;
  await pi.drive("d:emit", { event: "rewind:checkpoint-entry", data: { source: "pi-custom-compaction", entryId: leaf } });
  await pi.drive("d:emit", { event: "rewind:checkpoint-entry", data: { source: "stranger", entryId: (await pi.user("P1 create")).parentId } });
  await pi.drive("d:emit", { event: "rewind:checkpoint-entry", data: { source: "pi-custom-compaction", entryId: "none" } });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const bound = bindings((await pi.state()).entries);
  assert.equal(box.rewind("cat", `${bound.get(leaf as string)}:now.txt`), "now\n");
  assert.equal(bound.size, 4, "strangers, and entries that are not there, get no point");
  assert.equal((await pi.fork("P1 create"))["cancelled"], false);
  assert.equal(box.read("notes.txt"), "one\n");
  assert.ok(pi.noted("using conversation-only fork (keep current files) (fork-from-first)"));
});

flow("while a branch is folded files stay and nobody is asked", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  await pi.drive("d:global", { name: "__boomerangCollapseInProgress", value: true });
  await pi.drive("d:nav", { id: (await pi.user("P2 edit")).id, summarize: true });
  assert.equal(pi.dialogs.length, 0);
  assert.equal(box.read("notes.txt"), "two\n");
  const { entries } = await pi.state();
  assert.ok(bindings(entries).has(entries.find((e) => e.type === "branch_summary")?.id ?? ""));
});

for (const version of versions()) {
  for (const mode of ["print", "json"]) {
    test(`${mode} mode records without dialogs and loses no record (Pi ${version})`, async () => {
      const llm = await startLlm(SCRIPT);
      const box = new Sandbox(llm.url);
      try {
        const args = [box.pi(version), ...(mode === "print" ? ["-p"] : ["--mode", "json"]), "--provider", "fake", "--model", "fake-1", "-e", EXTENSION, "P1 create"];
        const child = await run(box, args);
        assert.equal(child.code, 0, child.stderr);
        const entries = readSession(box.sessions()[0] as string);
        const points = entries.filter((e) => e.message?.role === "user" || e.message?.role === "assistant");
        const bound = bindings(entries);
        assert.equal(points.length, 3);
        for (const p of points) assert.ok(bound.has(p.id), `${p.message?.role} is unbound`);
        assert.equal(child.stderr, "");
      } finally {
        await llm.close();
        box.close();
      }
    });
  }

  test(`the process of a killed Pi ends, and nothing is lost (Pi ${version})`, async () => {
    const llm = await startLlm(SCRIPT);
    const box = new Sandbox(llm.url);
    const pi = new Pi(version, box);
    try {
      await pi.prompt("P1 create");
      await pi.state();
      const served = children(pi.pid);
      assert.equal(served.length, 1);
      await pi.kill();
      for (let i = 0; i < 100 && alive(served[0] as number); i++) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.ok(!alive(served[0] as number));
      const again = new Pi(version, box, ["--session", box.sessions()[0] as string]);
      again.answer(ALL);
      await again.fork("P1 create");
      assert.equal(box.read("notes.txt"), undefined);
      await again.stop();
    } finally {
      await llm.close();
      box.close();
    }
  });
}

async function run(box: Sandbox, args: string[]): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, args, { cwd: box.cwd, env: box.env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (d: Buffer) => (stderr += String(d)));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stderr })));
}

function children(pid: number): number[] {
  return spawnSync("ps", ["-o", "pid=,args=", "--ppid", String(pid)], { encoding: "utf8" }).stdout.split("\n").filter((l) => l.includes("serve --stdio")).map((l) => Number.parseInt(l, 10));
}
