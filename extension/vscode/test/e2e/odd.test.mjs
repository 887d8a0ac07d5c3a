// What is asked of what is too large, gone, or may not be written: one sentence, and nothing is lost.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { flow as flowOn, shop, stage, text } from "./kit.mjs";

const on = stage();
const flow = (name, run) => flowOn(on, name, run);

flow("a file of 2 GB is not shown, and how it is written out is said", async () => {
  const dir = on.world.project("large", { "a.txt": "a\n" });
  writeFileSync(path.join(dir, "large.txt"), "");
  truncateSync(path.join(dir, "large.txt"), 2 ** 31);
  on.world.rewind(dir, "snapshot", "-m", "large");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.expand("large");
  await win.row("large.txt").click();
  await win.message('large.txt is larger than 64 MB: "rewind cat" writes it out');
});

flow("a folder that is deleted while it is open is not made again", async () => {
  const dir = shop(on.world, "deleted");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.row("Remove the old module").waitFor();
  rmSync(dir, { recursive: true });
  // The deletion shows the rows anew, and who chooses just then is told to choose once more.
  const told = (words) => win.page.locator(".notification-toast, .message").filter({ hasText: words }).first();
  for (let times = 0, anew = true; anew && times < 5; times++) {
    await win.menu("Remove the old module", "Restore to Before This…");
    await told(/deleted|no such|not there|gone|choose once more/).waitFor();
    anew = await told("choose once more").isVisible();
    if (anew) await win.dismiss();
  }
  await told(/deleted|no such|not there|gone/).waitFor();
  assert.equal(existsSync(dir), false);
});

flow("a snapshot that is gone is not taken for another", async () => {
  const dir = shop(on.world, "gone");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.expand("Remove the old module");
  await win.row("README.md").waitFor();
  on.world.run(dir, "git", "update-ref", "-d", "refs/pi-rewind/store");
  rmSync(path.join(dir, ".git/rewind"), { recursive: true });
  await win.command("Rewind: Refresh");
  await win.page.locator(".welcome-view-content", { hasText: "Nothing of this folder is recorded yet" }).waitFor();
  assert.match(text(dir, "README.md"), /The old module is gone/);
});

const root = process.getuid() === 0;
(root ? flow : (name) => test(name, { skip: "only root can mount a folder to be read only" }))("a folder that may not be written shows its history, and a restore says why not", async () => {
  const dir = shop(on.world, "written"), closed = on.world.dir("closed");
  mkdirSync(closed);
  execFileSync("mount", ["--bind", dir, closed]);
  try {
    execFileSync("mount", ["-o", "remount,ro,bind", closed]);
    const win = await on.editor.open(closed);
    await win.showTimeline();
    await win.expand("Remove the old module");
    await win.menu("Remove the old module", "Restore to Before This…");
    await win.list("3 written");
    await win.pick("Restore 3 files");
    await win.page.locator(".notification-toast").filter({ hasText: /read-only/ }).first().waitFor();
    assert.match(text(dir, "README.md"), /The old module is gone/);
  } finally {
    await on.editor.window?.close();
    execFileSync("umount", ["-l", closed]);
  }
});
