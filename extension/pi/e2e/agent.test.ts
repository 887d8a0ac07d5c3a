// What the agent does beside plain turns: steering, retries, tools of its own
// accord, forks in the middle of a run.

import assert from "node:assert/strict";
import { ALL, bindings, flow, KEEP } from "./flow.ts";
import { bash, say, write } from "./llm.ts";

flow("steering and follow-up messages get points of their own", async ({ pi, box }) => {
  const idle = pi.idle();
  await pi.request({ type: "prompt", message: "P5 slow" });
  await pi.wait((r) => r["type"] === "tool_execution_start", "tool");
  await pi.request({ type: "steer", message: "P6 steer" });
  await pi.request({ type: "follow_up", message: "P7 follow" });
  await idle;
  const { entries } = await pi.state();
  const bound = bindings(entries);
  for (const text of ["P5 slow", "P6 steer", "P7 follow"]) {
    const entry = await pi.user(text);
    assert.ok(bound.has(entry.id), `${text} has no point`);
  }
  const steer = bound.get((await pi.user("P6 steer")).id);
  assert.equal(box.rewind("cat", `${steer}:slow.txt`), "slow\n", "the point of a steering message is the state in which it came");
  const follow = bound.get((await pi.user("P7 follow")).id);
  assert.equal(box.rewind("cat", `${follow}:steered.txt`), "x\n");
}, {
  script: {
    "P5 slow": [bash("sleep 0.5; echo slow > slow.txt"), say("never")],
    "P6 steer": [write("steered.txt", "x\n"), say("steered")],
    "P7 follow": [say("followed")],
  },
});

flow("a retry leaves the points of the messages as they were", async ({ pi, box }) => {
  await pi.prompt("P8 retry");
  const { entries } = await pi.state();
  const bound = bindings(entries);
  const user = bound.get((await pi.user("P8 retry")).id);
  assert.ok(user);
  assert.throws(() => box.rewind("cat", `${user}:r.txt`), "the user's message came before the file");
  const all = entries.filter((e) => e.customType === "rewind-turn").flatMap((e) => e.data?.bindings ?? []);
  assert.equal(new Set(all.map(([id]) => id)).size, all.length, "nothing is bound twice");
}, { script: { "P8 retry": [write("r.txt", "r\n"), { ...say("done"), fail: { status: 529, times: 2 } }] } });

flow("a fork while the agent runs stops it before files are restored", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.request({ type: "prompt", message: "P9 long" });
  await pi.wait((r) => r["type"] === "tool_execution_start", "tool");
  pi.answer(ALL);
  await pi.fork("P1 create");
  assert.equal(box.read("notes.txt"), undefined);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(box.read("late.txt"), undefined, "the tool of the old run wrote after the restore");
}, { script: { "P9 long": [bash("sleep 1; echo late > late.txt"), say("end")] } });

flow("a navigation while the agent runs is refused, or stops it before files are restored", async ({ pi, box, version }) => {
  await pi.prompt("P1 create");
  const { id } = await pi.user("P1 create");
  const idle = pi.idle();
  await pi.request({ type: "prompt", message: "P9 long" });
  await pi.wait((r) => r["type"] === "tool_execution_start", "tool");
  if (version === "1.5.2") {
    await assert.rejects(pi.drive("d:nav", { id }), /current response/);
    await idle;
    return assert.equal(box.read("late.txt"), "late\n", "the run went on");
  }
  pi.answer("Restore files to that point");
  await pi.drive("d:nav", { id });
  assert.equal(box.read("notes.txt"), undefined);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(box.read("late.txt"), undefined, "the tool of the old run wrote after the restore");
}, { script: { "P9 long": [bash("sleep 1; echo late > late.txt"), say("end")] } });

flow("with toolPoints each tool has a point", async ({ pi, box }) => {
  await pi.prompt("PA tools");
  const { entries } = await pi.state();
  const bound = bindings(entries);
  const results = entries.filter((e) => e.message?.role === "toolResult");
  assert.equal(results.length, 2);
  const [first, second] = results.map((e) => bound.get(e.id));
  assert.ok(first && second && first !== second);
  assert.equal(box.rewind("cat", `${second}:b.txt`), "b\n");
  pi.answer("Restore files to that point");
  await pi.drive("d:nav", { id: results[0]?.id });
  assert.equal(box.read("b.txt"), undefined);
  assert.equal(box.read("a.txt"), "a\n");
}, { settings: { rewind: { toolPoints: true } }, script: { "PA tools": [write("a.txt", "a\n"), bash("echo b > b.txt"), say("done")] } });

flow("an aborted run leaves the points of what happened", async ({ pi, box }) => {
  await pi.request({ type: "prompt", message: "PB abort" });
  await pi.wait((r) => r["type"] === "tool_execution_start" && r["toolName"] === "bash", "second tool");
  const idle = pi.idle();
  await pi.request({ type: "abort" });
  await idle;
  const { entries } = await pi.state();
  assert.ok(bindings(entries).has((await pi.user("PB abort")).id));
  assert.equal(box.read("a.txt"), "a\n");
  pi.answer(KEEP);
  await pi.fork("PB abort");
}, { script: { "PB abort": [write("a.txt", "a\n"), bash("sleep 5"), say("done")] } });

flow("shell changes are recorded, and files of the user are not lost", async ({ pi, box }) => {
  box.write("mine.txt", "by hand\n");
  await pi.prompt("PC shell");
  assert.equal(box.read("mine.txt"), undefined);
  pi.answer(ALL);
  await pi.fork("PC shell");
  assert.equal(box.read("mine.txt"), "by hand\n");
  assert.equal(box.read("moved.txt"), undefined);
}, { script: { "PC shell": [bash("mv mine.txt moved.txt"), say("done")] } });
