// What a person does with the extension, in a real VS Code beside an agent that
// works: looks at history, and goes back.

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CART, flow as flowOn, picture, shop as shopIn, stage, text, until } from "./kit.mjs";

const on = stage();
const flow = (name, run) => flowOn(on, name, run);
const shop = (name) => shopIn(on.world, name);

flow("the timeline shows sessions, prompts and files, and their differences", async () => {
  const dir = shop("look");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.expand("Remove the old module");
  await win.row("old.ts").waitFor();
  const rows = await win.rows();
  assert.match(rows[1], /^Add a discount to the cart.*generic · 2 prompts .* files are here/s);
  assert.match(rows[2], /^Remove the old module.*3 files \+2 −1/s);
  assert.deepEqual(rows.slice(3, 6).map((r) => r.replace(/\s+/g, " ")), ["README.md+2 −0", "logo.pngbinary", "old.tssrc · +0 −1"]);
  assert.equal(await win.row("README.md").getAttribute("aria-label"), "README.md, modified, +2 −0");

  await win.row("README.md").click();
  await win.page.locator(".tab.active", { hasText: "README.md (before ↔ after)" }).waitFor();
  await win.page.locator(".editor.modified .view-line", { hasText: "The old module is gone." }).waitFor();
  await picture(win, "diff");

  // Before the first snapshot there was nothing; the picture is shown as such on both sides.
  await win.row("logo.png").click();
  await win.page.locator(".tab.active", { hasText: "logo.png (before ↔ after)" }).waitFor();
  await until(async () => (await win.page.frames()).length > 1);

  // All of a turn in the multi-file editor, with what was added and deleted.
  await win.expand("Add a discount to the cart2 files").catch(() => {});
  await win.menu("Remove the old module", "Open All Differences");
  await win.page.locator(".multiDiffEntry .file-path", { hasText: "README.md" }).first().waitFor();
  assert.equal(await win.page.locator(".multiDiffEntry").count() >= 2, true);
  await picture(win, "changes");

  // A turn that the agent makes while the view is open is there by itself.
  on.world.turn(dir, "look-1", "One more thing", { "src/more.ts": "export {};\n" });
  await win.row("One more thing").waitFor();
});

flow("a restore lists what it will do, deletions first, and an undo takes it back", async () => {
  const dir = shop("back");
  writeFileSync(path.join(dir, "src/mine.ts"), "mine\n");
  on.world.rewind(dir, "snapshot", "-m", "mine");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.expand("generic · 2 prompts");
  await win.menu("Remove the old module", "Restore to Before This…");
  const list = await win.list("Restore files to before “Remove the old module and say so in the readme”: 1 deleted, 3 written");
  assert.deepEqual(list.rows, [
    "Restore 4 files1 deleted, 3 written", "Show all differenceswithout changing anything",
    "src/mine.tsdeleted Deleted (1)", "README.mdchanged Written (3)", "logo.pngchanged", "src/old.tsbrought back",
  ].map((r) => r));
  assert.match(list.placeholder, /Escape leaves everything as it is/);
  await picture(win, "restore");

  await win.page.keyboard.press("Escape");
  await new Promise((r) => setTimeout(r, 300));
  assert.equal(existsSync(path.join(dir, "src/old.ts")), false);

  await win.menu("Remove the old module", "Restore to Before This…");
  await win.list("1 deleted, 3 written");
  await win.pick("Restore 4 files");
  const toast = await win.message("1 deleted, 3 written");
  assert.equal(text(dir, "README.md"), "# Shop\n");
  assert.equal(existsSync(path.join(dir, "src/mine.ts")), false);
  await toast.locator("text=Undo").click();
  await win.list("Undo the last restore");
  await win.pick("Undo: 4 files");
  await win.message("Undo the last restore:");
  assert.equal(text(dir, "src/mine.ts"), "mine\n");
  assert.equal(existsSync(path.join(dir, "src/old.ts")), false);
  await win.dismiss();

  await win.command("Rewind: Redo the Last Undo");
  await win.list("Redo the last undo");
  await win.pick("Redo: 4 files");
  await until(() => existsSync(path.join(dir, "src/old.ts")));
});

flow("a file of one turn goes back alone", async () => {
  const dir = shop("file");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.expand("Remove the old module");
  await win.menu("README.md", "Restore to Before This…");
  const list = await win.list("Restore README.md to before");
  assert.deepEqual(list.rows.slice(2), ["README.mdchanged Written (1)"]);
  await win.pick("Restore 1 file");
  await until(() => text(dir, "README.md") === "# Shop\n");
  assert.equal(existsSync(path.join(dir, "src/old.ts")), false);
});

flow("one turn is taken back, and what came after it stays", async () => {
  const dir = shop("revert");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.row("Add a discount to the cart").waitFor();
  const turn = "Add a discount to the cart2 files";
  await win.menu(turn, "Take Back This Turn, Keep the Rest…");
  const list = await win.list("Take back “Add a discount to the cart”: 1 deleted, 1 written");
  assert.deepEqual(list.rows.slice(1), ["src/discount.tsdeleted Deleted (1)", "src/cart.tschanged Written (1)"]);
  await win.pick("Take back 2 files");
  await until(() => text(dir, "src/cart.ts") === CART);
  assert.equal(existsSync(path.join(dir, "src/discount.ts")), false);
  assert.match(text(dir, "README.md"), /The old module is gone/);
});

flow("text that is not saved is never overwritten, and named", async () => {
  const dir = shop("unsaved");
  const win = await on.editor.open(dir);
  await win.openFile("README.md");
  await win.type("typed ");
  await win.page.locator(".tab.active.dirty").waitFor();
  await win.showTimeline();
  await win.menu("Remove the old module", "Restore to Before This…");
  const list = await win.list("Restore files to before");
  assert.deepEqual(list.rows.slice(2), ["README.mdan editor has unsaved text Unsaved text: left alone (1)", "logo.pngchanged Written (2)", "src/old.tsbrought back"]);
  await picture(win, "unsaved");
  await win.pick("Restore 2 files");
  await win.message("Left alone, as it has unsaved text: README.md");
  assert.match(text(dir, "README.md"), /The old module is gone/);
  assert.ok(existsSync(path.join(dir, "src/old.ts")));
  assert.match(await win.page.locator(".editor-instance .view-line").first().innerText(), /typed\s#/);
});

flow("what changes after the list was shown is listed anew, and not overwritten", async () => {
  const dir = shop("meanwhile");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.menu("Remove the old module", "Restore to Before This…");
  await win.list("3 written");
  on.world.write(dir, { "src/late.ts": "late\n", "README.md": "late\n" });
  await win.pick("Restore 3 files");
  const list = await win.list("1 deleted, 3 written");
  assert.match(list.placeholder, /Something has changed since/);
  assert.equal(text(dir, "README.md"), "late\n");
  await win.page.keyboard.press("Escape");
  await new Promise((r) => setTimeout(r, 300));
  assert.equal(text(dir, "src/late.ts"), "late\n");
});

flow("the status bar says when the last point was, and a click records", async () => {
  const dir = on.world.project("fresh", { "a.txt": "1\n" });
  const win = await on.editor.open(dir);
  await win.status().filter({ hasText: "not recorded" }).waitFor();
  await win.showTimeline();
  await win.page.locator(".welcome-view-content", { hasText: "Nothing of this folder is recorded yet" }).waitFor();
  await win.status().click();
  await win.status().filter({ hasText: /\d\d:\d\d/ }).waitFor();
  await win.row("Recorded").waitFor();
  on.world.write(dir, { "a.txt": "2\n" });
  await win.command("Rewind: Record with a Label…");
  await win.answer("Record with a label", "good state");
  await win.row("good state").waitFor();
  assert.match(on.world.rewind(dir, "list"), /good state/);
});
