// What the extension costs while nothing of it is shown: what it asks is counted. How
// long its start takes, and how often the program wakes up, is printed.

import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { flow, shop, stage, text, until } from "./kit.mjs";

const REST_MS = 20_000;

const on = stage({
  prepare: (world) => {
    const program = world.dir("program");
    writeFileSync(program, `#!/bin/sh\nPATH=${world.bin}:$PATH\ntee -a ${world.dir("asked")} | rewind "$@"\n`);
    chmodSync(program, 0o755);
    return { machine: { "rewind.path": program } };
  },
});

const asked = () => (existsSync(on.world.dir("asked")) ? text(on.world.dir(), "asked") : "").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line).method);

/** Waits until nothing has been asked for a while. */
async function settled() {
  for (let last = -1; ; ) {
    const now = asked().length;
    if (now > 0 && now === last) return asked();
    last = now;
    await new Promise((r) => setTimeout(r, 3_000));
  }
}

/** How often the threads of the program have gone to sleep. */
function wakings() {
  let n = 0;
  for (const pid of readdirSync("/proc").filter((p) => /^\d+$/.test(p))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`rewind\0serve`) || readFileSync(`/proc/${pid}/environ`, "utf8").includes(on.world.home) === false) continue;
      for (const task of readdirSync(`/proc/${pid}/task`)) n += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${task}/status`, "utf8"))[1]);
    } catch {
      continue; // it is gone, or of somebody else
    }
  }
  return n;
}

flow(on, "nothing is asked while nothing happens, and little when an agent works unseen", async () => {
  const dir = shop(on.world, "cost");
  const win = await on.editor.open(dir);
  await win.status().filter({ hasText: /\d\d:\d\d/ }).waitFor();
  const start = await settled();
  // The first list keeps the counts of lines that it found in the store, which is then looked at once more.
  assert.deepEqual(start, ["initialize", "cat", "status", "list", "status"]);
  const before = wakings();
  await new Promise((r) => setTimeout(r, REST_MS));
  assert.deepEqual(asked(), start);
  console.log(`at rest: 0 requests, the program woke up ${wakings() - before} times in ${REST_MS / 1000} s`);

  on.world.turn(dir, "cost-1", "One more thing", { "src/more.ts": "export {};\n" });
  await until(() => asked().length > start.length);
  const turn = (await settled()).slice(start.length);
  assert.ok(turn.every((m) => m === "status" || m === "list"), `${turn}`);
  assert.ok(turn.length <= 6, `two snapshots are ${turn.length} requests: ${turn}`);

  await win.command("Developer: Show Running Extensions");
  const row = win.page.locator(".runtime-extensions-editor .monaco-list-row", { hasText: "Rewind" }).first();
  await row.waitFor();
  console.log(`start: ${(await row.innerText()).replace(/\s+/g, " ")}`);
});
