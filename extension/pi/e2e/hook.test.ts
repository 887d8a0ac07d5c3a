// A session that pi-rewind-hook recorded is restored by this extension, and
// the other way round.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL, flow, SCRIPT, UNDO } from "./flow.ts";
import { hookRecord, hookResolve, hookRestore, hookSnapshot, hookState, hookStore } from "./hook.ts";
import { startLlm } from "./llm.ts";
import { Pi } from "./rpc.ts";
import { readSession, Sandbox, versions } from "./sandbox.ts";

for (const version of versions()) {
  test(`a session of pi-rewind-hook is restored (Pi ${version})`, async () => {
    const llm = await startLlm(SCRIPT);
    const box = new Sandbox(llm.url);
    try {
      // Recorded without this extension.
      const before = new Pi(version, box, [], "");
      const ids = [hookSnapshot(box)];
      await before.prompt("P1 create");
      ids.push(hookSnapshot(box));
      await before.prompt("P2 edit");
      ids.push(hookSnapshot(box));
      await before.prompt("P3 more");
      await before.stop();
      const file = box.sessions()[0] as string;
      const messages = readSession(file).filter((e) => e.message?.role === "user" || e.message?.role === "assistant").map((e) => e.id);
      hookRecord(file, "rewind-turn", { v: 2, snapshots: [ids[0], ids[1]], bindings: [[messages[0], 0], [messages[1], 1], [messages[2], 1]] });
      hookRecord(file, "rewind-turn", { v: 2, snapshots: [ids[1], ids[2]], bindings: [[messages[3], 0], [messages[4], 1], [messages[5], 1]] });
      const rest = hookSnapshot(box);
      hookRecord(file, "rewind-op", { v: 2, snapshots: [rest, ids[0]], current: 0, undo: 1 });
      assert.equal(hookResolve(box, file, messages[3] as string), ids[1], "the fixture is as the hook would read it");

      const pi = new Pi(version, box, ["--session", file]);
      await pi.state();
      assert.match(pi.status.get("rewind") ?? "", /6 points \/ 3 snapshots/);
      pi.answer('"P1 create" → write', "Restore files only");
      await pi.command("/rewind");
      assert.equal(box.read("notes.txt"), "one\n");
      assert.equal(box.read("more.txt"), undefined);
      pi.answer(ALL);
      await pi.fork("P1 create");
      assert.deepEqual(pi.dialogs.at(-1)?.options.at(-1), UNDO);
      assert.equal(box.read("notes.txt"), undefined);
      pi.settled();
      await pi.stop();
      assert.ok(ids.every((id) => hookStore(box).has(id)), "what the hook kept is kept");
    } finally {
      await llm.close();
      box.close();
    }
  });
}

flow("pi-rewind-hook finds every point of ours, in forks too, and restores it", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  await pi.prompt("P3 more");
  const second = (await pi.user("P2 edit")).id;
  const first = (await pi.user("P1 create")).id;
  pi.answer(ALL);
  await pi.fork("P3 more");
  await pi.prompt("P3 more");
  await pi.stop();
  const file = box.sessions().at(-1) as string;
  assert.ok(readSession(file)[0]?.parentSession);
  const points = readSession(file).filter((e) => e.message?.role === "user" || e.message?.role === "assistant");
  assert.equal(points.length, 9);
  const kept = hookStore(box);
  for (const p of points) {
    const id = hookResolve(box, file, p.id);
    assert.ok(id && kept.has(id), `${p.id} ${id}`);
  }
  hookRestore(box, hookResolve(box, file, second) as string);
  assert.equal(box.read("notes.txt"), "one\n");
  assert.equal(box.read("more.txt"), undefined);
  hookRestore(box, hookResolve(box, file, first) as string);
  assert.equal(box.read("notes.txt"), undefined);
  const state = hookState(file);
  assert.ok(state.current && state.undo && kept.has(state.undo), "current and undo of the fork");
});
