// What is recorded, asked and put back in the flows of every day.

import assert from "node:assert/strict";
import { ALL, bindings, CODE, flow, KEEP, UNDO } from "./flow.ts";
import { bash, say } from "./llm.ts";
import { Pi } from "./rpc.ts";
import { readSession } from "./sandbox.ts";

flow("every user message and every turn gets its point", async ({ pi }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  const { entries } = await pi.state();
  const bound = bindings(entries);
  const points = entries.filter((e) => e.message?.role === "user" || e.message?.role === "assistant");
  assert.equal(points.length, 6);
  for (const p of points) assert.ok(bound.has(p.id), `${p.message?.role} ${p.id} has no point`);
  const ids = points.map((p) => bound.get(p.id));
  assert.notEqual(ids[0], ids[1], "the tool of the first turn changed the files");
  assert.equal(ids[1], ids[2], "the second turn changed nothing");
  assert.equal(ids[2], ids[3], "nor did the user before his second message");
  assert.match(pi.status.get("rewind") ?? "", /6 points \/ 3 snapshots/);
  assert.equal(entries.filter((e) => e.customType === "rewind-turn").flatMap((e) => e.data?.bindings ?? []).length, 6, "each is bound once");
});

flow("fork and Restore all puts the files back to the message", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer(ALL);
  const result = await pi.fork("P2 edit");
  assert.equal(result["cancelled"], false);
  assert.deepEqual(pi.dialogs.at(-1)?.options, [KEEP, ALL, CODE]);
  assert.equal(pi.dialogs.at(-1)?.title, "Restore Options\nTo restore: 1 file written");
  assert.equal(box.read("notes.txt"), "one\n");
  const { entries } = await pi.state();
  assert.equal(entries.filter((e) => e.customType === "rewind-op").length, 1, "the child takes over once");
});

flow("fork with Conversation only leaves the files alone", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer(KEEP);
  assert.equal((await pi.fork("P2 edit"))["cancelled"], false);
  assert.equal(box.read("notes.txt"), "two\n");
  const { entries } = await pi.state();
  assert.ok(!entries.some((e) => JSON.stringify(e.message?.content)?.includes("P2 edit")));
});

flow("Code only keeps the conversation", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  const before = (await pi.state()).file;
  pi.answer(CODE);
  assert.equal((await pi.fork("P2 edit"))["cancelled"], true);
  assert.equal(box.read("notes.txt"), "one\n");
  const state = await pi.state();
  assert.equal(state.file, before);
  assert.ok(state.entries.some((e) => JSON.stringify(e.message?.content)?.includes("P2 edit")));
});

flow("undo crosses into the child of a fork, and of a fork of it", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer(ALL);
  await pi.fork("P2 edit");
  assert.equal(box.read("notes.txt"), "one\n");
  pi.answer(UNDO, "Undo it");
  await pi.fork("P1 create");
  assert.deepEqual(pi.dialogs.at(-2)?.options, [KEEP, ALL, CODE, UNDO]);
  assert.match(pi.dialogs.at(-1)?.title ?? "", /Undo the last file rewind\?\n1 file written: notes\.txt/);
  assert.equal(box.read("notes.txt"), "two\n");
});

flow("a fork of a fork restores points of the session it began with", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  for (let i = 0; i < 2; i++) {
    await pi.prompt("P3 more");
    pi.answer(KEEP);
    await pi.fork("P3 more");
  }
  pi.answer(ALL);
  await pi.fork("P2 edit");
  assert.equal(box.read("notes.txt"), "one\n");
  assert.equal(box.read("more.txt"), undefined);
  assert.match(pi.status.get("rewind") ?? "", /3 points \/ 2 snapshots/);
});

flow("each session of a process has its own points, with a file or without", async ({ pi, box, version }) => {
  await pi.prompt("P1 create");
  const first = (await pi.state()).file;
  await pi.request({ type: "new_session" });
  await pi.prompt("P2 edit");
  await pi.state();
  assert.match(pi.status.get("rewind") ?? "", /3 points \/ 2 snapshots/);
  pi.answer(KEEP);
  await pi.request({ type: "clone" });
  assert.deepEqual(pi.dialogs.at(-1)?.options, [KEEP]);
  await pi.request({ type: "switch_session", sessionPath: first });
  pi.answer(ALL);
  await pi.fork("P1 create");
  assert.equal(box.read("notes.txt"), undefined);
  const none = new Pi(version, box, ["--no-session"]);
  try {
    await none.prompt("P3 more");
    none.answer(/"P3 more"$/, "Restore files only");
    await none.command("/rewind");
    assert.equal(box.read("more.txt"), undefined);
    none.settled();
  } finally {
    await none.stop();
  }
});

flow("Esc in the dialog cancels the fork", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  pi.answer(undefined);
  assert.equal((await pi.fork("P1 create"))["cancelled"], true);
  assert.equal(box.read("notes.txt"), "one\n");
  assert.ok(pi.noted("Rewind cancelled"));
});

flow("the tree restores, keeps, undoes and cancels", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  await pi.prompt("P3 more");
  const second = (await pi.user("P2 edit")).id;
  pi.answer("Cancel navigation");
  assert.equal((await pi.drive("d:nav", { id: second }))["cancelled"], true);
  assert.deepEqual(pi.dialogs.at(-1)?.options, ["Keep current files", "Restore files to that point", "Cancel navigation"]);
  pi.answer("Keep current files");
  await pi.drive("d:nav", { id: second });
  assert.equal(box.read("notes.txt"), "two\n");
  pi.answer("Restore files to that point");
  await pi.drive("d:nav", { id: (await pi.user("P1 create")).id });
  assert.equal(box.read("notes.txt"), undefined);
  assert.equal(box.read("more.txt"), undefined);
  pi.answer(UNDO, "Undo it");
  assert.equal((await pi.drive("d:nav", { id: second }))["cancelled"], true);
  assert.equal(box.read("notes.txt"), "two\n");
  assert.equal(box.read("more.txt"), "more\n");
});

flow("a branch summary is a point", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer("Restore files to that point");
  await pi.drive("d:nav", { id: (await pi.user("P2 edit")).id, summarize: true });
  const { entries } = await pi.state();
  const summary = entries.find((e) => e.type === "branch_summary");
  assert.ok(summary && bindings(entries).has(summary.id));
  assert.equal(box.read("notes.txt"), "one\n");
});

flow("a compaction is a point of the files as they are", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  box.write("mine.txt", "edited by hand\n");
  await pi.request({ type: "compact" });
  const { entries } = await pi.state();
  const compaction = entries.find((e) => e.type === "compaction");
  const id = compaction && bindings(entries).get(compaction.id);
  assert.ok(id);
  assert.equal(box.rewind("cat", `${id}:mine.txt`), "edited by hand\n");
}, { settings: { compaction: { keepRecentTokens: 1 } } });

flow("a session that is resumed has its points and makes no snapshot twice", async ({ pi, box, version }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  await pi.stop();
  const before = box.git("rev-parse", "refs/pi-rewind/store");
  const again = new Pi(version, box, ["--session", box.sessions()[0] as string]);
  try {
    await again.state();
    assert.match(again.status.get("rewind") ?? "", /6 points \/ 3 snapshots/);
    assert.equal(box.git("rev-parse", "refs/pi-rewind/store"), before);
    again.answer(ALL);
    await again.fork("P2 edit");
    assert.equal(box.read("notes.txt"), "one\n");
    again.settled();
  } finally {
    await again.stop();
  }
});

flow("reload keeps the points and asks once", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  await pi.drive("d:reload");
  pi.answer("Restore files to that point");
  await pi.drive("d:nav", { id: (await pi.user("P2 edit")).id });
  assert.equal(box.read("notes.txt"), "one\n");
});

flow("the user's git is not touched", async ({ pi, box }) => {
  box.write("staged.txt", "staged\n");
  box.git("add", "staged.txt");
  const before = [box.git("status", "--porcelain"), box.git("rev-parse", "HEAD"), box.git("ls-files", "-s"), box.git("for-each-ref", "refs/heads")];
  await pi.prompt("P1 create");
  pi.answer("Restore files to that point");
  await pi.drive("d:nav", { id: (await pi.user("P1 create")).id });
  assert.deepEqual([box.git("status", "--porcelain"), box.git("rev-parse", "HEAD"), box.git("ls-files", "-s"), box.git("for-each-ref", "refs/heads")], before);
  box.git("fsck", "--strict");
});

flow("the ledger is in the file when Pi ends", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.stop();
  const bound = bindings(readSession(box.sessions()[0] as string));
  assert.equal(bound.size, 3);
});

flow("a restore in part stands until it is read, and can be taken back", async ({ pi, box }) => {
  box.write("nested/kept.txt", "kept\n");
  box.git("init", "-q", "nested");
  await pi.prompt("PN gone");
  assert.equal(box.read("nested/kept.txt"), undefined);
  pi.answer(ALL, "Take the restore back");
  assert.equal((await pi.fork("PN gone"))["cancelled"], true);
  assert.match(pi.dialogs.at(-1)?.title ?? "", /^Restored in part\. 1 path could not be restored, what is there stays:\nnested\/\.git \(/);
  assert.equal(box.read("nested/kept.txt"), undefined, "as it was before");
  pi.answer("Restore files to that point", "Go on");
  await pi.drive("d:nav", { id: (await pi.user("PN gone")).id });
  assert.equal(box.read("nested/kept.txt"), "kept\n");
  assert.ok(!pi.noted("Files restored to rewind point"), "no false success");
  assert.match(pi.status.get("rewind") ?? "", /not restored: nested\/\.git/);
}, { script: { "PN gone": [bash("rm -rf nested"), say("done")] } });

flow("secrets that go into git are named", async ({ pi, box }) => {
  box.write(".env", "KEY=1\n");
  await pi.prompt("P1 create");
  const said = pi.notes.filter((n) => n.message.includes("look like secrets"));
  assert.equal(said.length, 1, JSON.stringify(pi.notes));
  assert.match(said[0]?.message ?? "", /: \.env\./);
  assert.equal(said[0]?.type, "warning");
});
