// The flows as a person sees them: Pi's terminal interface, real keys, real
// screens.

import assert from "node:assert/strict";
import test from "node:test";
import { spawnSync } from "node:child_process";
import { SCRIPT } from "./flow.ts";
import { startLlm } from "./llm.ts";
import { Sandbox, type SandboxOptions, type Version, versions } from "./sandbox.ts";
import { Terminal } from "./terminal.ts";

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

function screen(name: string, run: (t: Terminal, box: Sandbox) => Promise<void>, options: SandboxOptions = {}, on: readonly Version[] = versions()): void {
  for (const version of on) {
    test(`${name} (terminal, Pi ${version})`, { skip: hasTmux ? false : "there is no tmux" }, async () => {
      const llm = await startLlm(SCRIPT);
      const box = new Sandbox(llm.url, options);
      const term = new Terminal(version, box);
      try {
        await term.until(/0 points/);
        await term.enter("P1 create");
        await term.until(/3 points \/ 2 snapshots/);
        await term.enter("P2 edit");
        await term.until(/6 points \/ 3 snapshots/);
        await run(term, box);
      } finally {
        await term.close();
        await llm.close();
        box.close();
      }
    });
  }
}

/** Waits for a file to get a text. */
async function becomes(box: Sandbox, name: string, text: string | undefined): Promise<void> {
  for (let i = 0; i < 200 && box.read(name) !== text; i++) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(box.read(name), text);
}

/** In the tree, goes up to the second message and chooses it, without a summary. */
async function chooseInTree(term: Terminal): Promise<void> {
  for (let shown = await term.until(/Session Tree[^]*› /); !/› .*user: P2 edit/.test(shown); shown = term.screen()) {
    term.key("Up");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  term.key("Enter");
  if ((await term.until(/Summarize branch|Restore Options/)).includes("Summarize")) term.key("Enter");
}

screen("the browser shows points and changes, and puts files and conversation back", async (term, box) => {
  await term.enter("/rewind");
  await term.until(/1 of 5, newest first[^]*"P2 edit"\n +❯ [\d:]+ +after write notes\.txt \(\+1 unchanged\) +1 file \+1 −1\n +[\d:]+ +before this prompt/);
  await term.until(/The files are as at this point/);
  term.key("Down");
  await term.until(/2 of 5[^]*❯ [\d:]+ +before this prompt[^]*Restore: 1 file written, \+1 −1[^]*restore notes\.txt[^]*-two[^]*\+one/);
  term.key("f");
  await term.until(/3 of 7/);
  term.key("f");
  await term.until(/2 of 5/);
  term.key("Enter");
  await term.until(/Rewind to before "P2 edit"[^]*→ Restore conversation only[^]*Restore files and conversation: 1 file written/);
  term.key("Escape"); // back to the list, at the same row
  await term.until(/2 of 5/);
  term.key("Enter");
  await term.until(/→ Restore conversation only/);
  term.key("Down", "Down", "Down");
  await term.until(/→ Restore files and conversation/);
  term.key("Enter");
  await becomes(box, "notes.txt", "one\n");
  await term.until((s) => s.includes("done 1") && !s.includes("done 2") && s.includes("P2 edit"), "the conversation before the second message, and that message in the editor");
});

screen("files are chosen one by one, with the cursor where it was", async (term, box) => {
  box.write("one.txt", "1\n");
  box.write("two.txt", "2\n");
  await term.enter("/rewind");
  await term.until(/1 of 5[^]*Restore: 2 files deleted/);
  term.key("Enter");
  await term.until(/→ Restore conversation only/);
  term.key("Down", "Enter");
  await term.until(/Which files\? +0 of 2 marked[^]*❯ \[ \] delete one\.txt/);
  term.key("Down", "Space");
  await term.until(/1 of 2 marked[^]*❯ \[x\] delete two\.txt[^]*Restore: 1 file deleted[^]*-2/);
  term.key("Enter");
  await becomes(box, "two.txt", undefined);
  assert.equal(box.read("one.txt"), "1\n");
});

screen("fork asks, and Restore all puts the files back", async (term, box) => {
  await term.enter("/fork");
  await term.until(/Fork from Message[^]*› P2 edit/);
  term.key("Enter");
  await term.until(/Restore Options[^]*Conversation only \(keep current files\)[^]*Restore all \(files \+ conversation\)[^]*Code only/);
  term.key("Down");
  term.key("Enter");
  await becomes(box, "notes.txt", "one\n");
  await term.until((s) => s.includes("done 1") && !s.includes("done 2"), "the forked conversation");
});

screen("a restore in part stands on the screen until it is read", async (term, box) => {
  box.write("nested/kept.txt", "kept\n");
  box.git("init", "-q", "nested");
  await term.enter("P3 more");
  await term.until(/9 points/);
  box.remove("nested");
  await term.enter("/fork");
  await term.until(/Fork from Message[^]*› P3 more/);
  term.key("Enter");
  await term.until(/→ Conversation only/);
  term.key("Down");
  term.key("Enter");
  await term.until(/Restored in part\. 1 path could not be restored[^]*nested\/\.git \([^]*→ Go on[^]*Take the restore back/);
  term.key("Enter");
  await term.until((s) => s.includes("done 2") && !s.includes("done 3"), "the forked conversation");
  assert.equal(box.read("nested/kept.txt"), "kept\n");
});

screen("Esc Esc opens the tree, which asks and restores", async (term, box) => {
  term.key("Escape");
  await new Promise((resolve) => setTimeout(resolve, 80));
  term.key("Escape");
  await chooseInTree(term);
  await term.until(/Restore Options[^]*Keep current files[^]*Restore files to that point[^]*Cancel navigation/);
  term.key("Escape");
  await term.until((s) => !s.includes("Restore Options"), "the end of the dialog");
  assert.equal(box.read("notes.txt"), "two\n");
  await term.enter("/tree");
  await chooseInTree(term);
  await term.until(/Restore Options/);
  term.key("Down");
  term.key("Enter");
  await becomes(box, "notes.txt", "one\n");
});

screen("Esc Esc opens the browser where the setting says so", async (term, box) => {
  term.key("Escape");
  await new Promise((resolve) => setTimeout(resolve, 80));
  term.key("Escape");
  await term.until(/◆ Rewind +1 of 5/);
  term.key("Escape");
  await term.until((s) => !s.includes("newest first"), "the end of the browser");
  assert.equal(box.read("notes.txt"), "two\n");
}, { settings: { rewind: { escEsc: true } } }, ["1.5.2"]);

screen("the browser in the other renderer", async (term, box) => {
  await term.enter("/rewind");
  await term.until(/1 of 5, newest first/);
  term.key("End");
  await term.until(/5 of 5/);
  term.key("Enter");
  await term.until(/→ Choose files[^]*Restore files only/);
  term.key("Down", "Enter");
  await becomes(box, "notes.txt", undefined);
  await term.enter("/rewind");
  await term.until(/2 of 6[^]*↩ undo the last file rewind\n[^]*❯ [\d:]+ +after write/);
  term.key("Up");
  await term.until(/❯ +↩ undo the last file rewind[^]*Undo: 1 file written/);
  term.key("Enter");
  await term.until(/Undo the last file rewind\?[^]*1 file written: notes\.txt[^]*→ Leave everything as it is/);
  term.key("Down", "Enter");
  await becomes(box, "notes.txt", "two\n");
}, { settings: { tuiMode: "regular" } }, ["1.5.2"]);
