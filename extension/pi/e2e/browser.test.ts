// /rewind and /checkpoint, through dialogs as a client of the RPC mode sees them.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { bindings, flow } from "./flow.ts";
import { say, write } from "./llm.ts";

const BOTH = "Restore files and conversation";
const FILES = "Restore files only";
const CONVERSATION = "Restore conversation only";

flow("the list names prompts, tools, what changed, and is newest first", async ({ pi }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer(undefined);
  await pi.command("/rewind");
  const lines = pi.dialogs.at(-1)?.options ?? [];
  assert.equal(lines.length, 7, lines.join("\n"));
  assert.match(lines[0] ?? "", /^1\. \d\d:\d\d:\d\d {2}"P2 edit" → done 2/);
  assert.match(lines[1] ?? "", /"P2 edit" → write notes\.txt {2}1 file \+1 −1/);
  assert.match(lines[2] ?? "", /before "P2 edit"$/);
  assert.match(lines[4] ?? "", /"P1 create" → write notes\.txt {2}1 file \+1 −0/);
  assert.ok(lines.some((l) => l.includes("Session start")));
});

flow("restores files only, and walks back and forth through several levels", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  const { file } = await pi.state();
  pi.answer('"P1 create" → write', FILES);
  await pi.command("/rewind");
  assert.equal(box.read("notes.txt"), "one\n");
  pi.answer("Session start", FILES);
  await pi.command("/rewind");
  assert.equal(box.read("notes.txt"), undefined);
  for (const [answer, text] of [["↩ undo", "one\n"], ["↩ undo", "two\n"], ["↪ redo", "one\n"], ["↪ redo", undefined], ["↩ undo", "one\n"]] as const) {
    pi.answer(answer, / files: 1 file (written|deleted)$/);
    await pi.command("/rewind");
    assert.equal(box.read("notes.txt"), text);
  }
  assert.equal((await pi.state()).file, file);
  pi.answer(undefined);
  await pi.command("/rewind");
  assert.match(pi.dialogs.at(-1)?.options[0] ?? "", /undo the last file rewind$/);
  assert.match(pi.dialogs.at(-1)?.options[1] ?? "", /redo what was undone$/);
});

flow("restores files and conversation without asking again", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  const second = (await pi.user("P2 edit")).id;
  pi.answer(/"P2 edit"$/, BOTH);
  await pi.command("/rewind");
  assert.equal(box.read("notes.txt"), "one\n");
  const { branch } = await pi.state();
  assert.ok(!branch.includes(second), "the message is no longer on the branch");
  pi.answer("Undo last file rewind", "Undo it");
  await pi.drive("d:nav", { id: second });
  assert.equal(box.read("notes.txt"), "two\n", "the undo of it is offered by the tree");
});

flow("the undo of files and conversation offers both, and so does the redo", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  const second = (await pi.user("P2 edit")).id;
  pi.answer(/before "P2 edit"$/, BOTH);
  await pi.command("/rewind");
  pi.answer("↩ undo", "Undo files and conversation: 1 file written");
  await pi.command("/rewind");
  assert.deepEqual(pi.dialogs.at(-1)?.options, ["Leave everything as it is", "Undo files only: 1 file written", "Undo files and conversation: 1 file written"]);
  assert.equal(box.read("notes.txt"), "two\n");
  assert.ok((await pi.state()).branch.includes(second), "the conversation is where it was");
  pi.answer("↪ redo", "Redo files and conversation");
  await pi.command("/rewind");
  assert.equal(box.read("notes.txt"), "one\n");
  assert.ok(!(await pi.state()).branch.includes(second));
});

flow("the undo of another's restore says so, and is not done by the way", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  const id = bindings((await pi.state()).entries).get((await pi.user("P2 edit")).id) as string;
  box.rewind("restore", id, "--yes");
  pi.answer("↩ undo", undefined, undefined);
  await pi.command("/rewind");
  assert.match(pi.dialogs.at(-2)?.title ?? "", /1 file written: notes\.txt\nThe rewind was not made in this session/);
  assert.equal(box.read("notes.txt"), "one\n");
});

flow("restores the conversation only", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  const second = (await pi.user("P2 edit")).id;
  pi.answer('"P1 create" → done 1', CONVERSATION);
  await pi.command("/rewind");
  assert.equal(box.read("notes.txt"), "two\n");
  assert.ok(!(await pi.state()).branch.includes(second));
  pi.answer(undefined);
  await pi.command("/rewind");
  assert.ok(pi.dialogs.at(-1)?.options.some((o) => o.includes('⑂ "P2 edit"')), "points of the branch that was left are marked");
});

flow("summarises from a point and keeps the files", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.prompt("P2 edit");
  pi.answer('"P1 create" → done 1', "Summarise from here");
  await pi.command("/rewind");
  assert.equal(box.read("notes.txt"), "two\n");
  const { entries, branch } = await pi.state();
  const summary = entries.find((e) => e.type === "branch_summary");
  assert.ok(summary && branch.includes(summary.id) && bindings(entries).has(summary.id));
});

flow("restores single files", async ({ pi, box }) => {
  await pi.prompt("PM many");
  box.write("a[1].txt", "changed\n");
  box.write("b.txt", "changed\n");
  pi.answer('"PM many" → done', "Choose files", "a[1].txt", "Restore the 1 marked");
  await pi.command("/rewind");
  assert.equal(box.read("a[1].txt"), "a\n");
  assert.equal(box.read("b.txt"), "changed\n");
  pi.answer("↩ undo", "Undo files");
  await pi.command("/rewind");
  assert.equal(box.read("a[1].txt"), "changed\n");
  assert.equal(box.read("b.txt"), "changed\n");
}, { script: { "PM many": [write("a[1].txt", "a\n"), write("b.txt", "b\n"), say("done")] } });

flow("a checkpoint has a name, is listed, and survives", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  await pi.command("/checkpoint  before the storm ");
  assert.ok(pi.noted('Checkpoint "before the storm" taken'));
  box.write("more.txt", "x\n");
  await pi.command("/checkpoint edited by hand");
  const { entries } = await pi.state();
  assert.deepEqual(entries.filter((e) => e.type === "label").map((e) => e.label), ["before the storm"], "an entry whose point is another state gets no label");
  await pi.prompt("P2 edit");
  const kept = JSON.parse(box.rewind("prune", "--json", "--max-snapshots", "1", "--unseen")) as { kept: object };
  assert.ok(kept.kept);
  pi.answer("★ edited by hand", FILES);
  await pi.command("/rewind");
  assert.equal(box.read("more.txt"), "x\n");
  assert.equal(box.read("notes.txt"), "one\n");
  pi.answer("★ before the storm", FILES);
  await pi.command("/rewind");
  assert.equal(box.read("more.txt"), undefined);
  await pi.command("/checkpoint");
  assert.ok(pi.noted("give the checkpoint a name"));
  pi.answer("Keep it there");
  await pi.command("/checkpoint before the storm");
  assert.ok(pi.noted('there is a checkpoint "before the storm" already'));
  pi.answer("★ before the storm", "Restore conversation only");
  await pi.command("/rewind");
  assert.ok(!(await pi.state()).branch.includes((await pi.user("P2 edit")).id), "the conversation went back to the checkpoint");
});

flow("Back and Esc leave everything as it is", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  pi.answer('"P1 create" → done 1', "Back", /before "P1 create"$/, "Choose files", undefined, undefined);
  await pi.command("/rewind");
  assert.equal(box.read("notes.txt"), "one\n");
});

flow("a folder is not restored with a file of it that was marked", async ({ pi, box }) => {
  await pi.prompt("P1 create");
  box.write("new/a.txt", "a\n");
  box.write("new/b.txt", "b\n");
  pi.answer('"P1 create" → done', "Choose files", "delete new/a.txt", "Restore the 1 marked");
  await pi.command("/rewind");
  assert.equal(box.read("new/a.txt"), undefined);
  assert.equal(box.read("new/b.txt"), "b\n");
  pi.answer('"P1 create" → done', "Choose files", "Mark all", "Restore the 1 marked");
  await pi.command("/rewind");
  assert.equal(box.read("new/b.txt"), undefined);
  assert.ok(!existsSync(path.join(box.repo, "new")), "with all that was in it the folder goes");
});
