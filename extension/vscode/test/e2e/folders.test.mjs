// Several folders, folders that are links, names that are hard to write, and what
// is wrong with the program.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { flow as flowOn, picture, shop, stage, text, until } from "./kit.mjs";

const on = stage();
const flow = (name, run) => flowOn(on, name, run);

/** The processes of the program that serve an editor. */
function serving() {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`${path.join(on.world.bin, "rewind")}\0serve`);
    } catch {
      return false;
    }
  }).map(Number);
}

flow("a restore in one folder of a workspace touches no other", async () => {
  const { world } = on;
  const dir = world.project("mono", { "a/one.txt": "1\n", "b/two.txt": "2\n", "other.txt": "3\n" });
  world.turn(dir, "m", "Change all of it", { "a/one.txt": "changed\n", "b/two.txt": "changed\n", "other.txt": "changed\n", "b/new.txt": "new\n" });
  const alone = shop(world, "alone");
  const file = world.dir("several.code-workspace");
  writeFileSync(file, JSON.stringify({ folders: [{ path: "mono/a" }, { path: "mono/b" }, { path: "alone" }] }));
  const win = await on.editor.open(file);
  await win.showTimeline();
  await win.row("Change all of it").waitFor();
  assert.deepEqual((await win.rows()).filter((r) => /^(a|b|alone)$/.test(r.trim())).length, 3);
  await picture(win, "folders");
  await win.menu("Change all of it4 files", "Restore to Before This…");
  const list = await win.list("Restore files to before “Change all of it”: 1 written");
  assert.deepEqual(list.rows.slice(2), ["a/one.txtchanged Written (1)"]);
  await win.pick("Restore 1 file");
  await until(() => text(dir, "a/one.txt") === "1\n");
  for (const name of ["b/two.txt", "other.txt"]) assert.equal(text(dir, name), "changed\n");
  assert.ok(existsSync(path.join(dir, "b/new.txt")));
  assert.ok(existsSync(path.join(alone, "src/discount.ts")));
});

flow("a folder within another is left out of a restore of the outer one", async () => {
  const { world } = on;
  const dir = world.project("outer", { "x.txt": "1\n", "in/y.txt": "1\n" });
  world.turn(dir, "o", "Change both", { "x.txt": "2\n", "in/y.txt": "2\n" });
  const file = world.dir("nested.code-workspace");
  writeFileSync(file, JSON.stringify({ folders: [{ path: "outer" }, { path: "outer/in" }] }));
  const win = await on.editor.open(file);
  await win.showTimeline();
  await win.menu("Change both2 files", "Restore to Before This…");
  const list = await win.list("Restore files to before “Change both”: 1 written");
  assert.deepEqual(list.rows.slice(2), ["x.txtchanged Written (1)"]);
  assert.match(list.placeholder, /1 change in other folders of the workspace is left out/);
  await win.pick("Restore 1 file");
  await until(() => text(dir, "x.txt") === "1\n");
  assert.equal(text(dir, "in/y.txt"), "2\n");
});

flow("names that are hard to write are shown and restored, also below a link", async () => {
  const { world } = on;
  const odd = "100% #1? \\ ü\nline.txt";
  const dir = world.project("odd", { [odd]: "one\n", "a.txt": "a\n" });
  execFileSync("sh", ["-c", "printf raw > \"$(printf 'bad\\377.txt')\""], { cwd: dir });
  world.turn(dir, "odd", "Change odd\u202e names\u001b[31m", { [odd]: "two\n" });
  execFileSync("sh", ["-c", "printf other > \"$(printf 'bad\\377.txt')\""], { cwd: dir });
  world.rewind(dir, "snapshot", "-m", "bytes");
  const link = world.dir("link");
  symlinkSync(dir, link);
  const win = await on.editor.open(link);
  await win.showTimeline();
  await win.expand("1 prompt");
  await win.expand("Change odd names [31m1 file");
  const row = win.row("100% #1? \\ ü line.txt");
  await row.click();
  await win.page.locator(".editor.modified .view-line", { hasText: "two" }).waitFor();
  await win.page.locator(".editor.original .view-line", { hasText: "one" }).waitFor();
  await win.menu("100% #1?", "Restore to Before This…");
  await win.list("Restore 100% #1? \\ ü line.txt to before");
  await win.pick("Restore 1 file");
  await until(() => text(dir, odd) === "one\n");

  await win.expand("bytes");
  await win.row("bad\ufffd.txt").click();
  await win.page.locator(".editor.modified .view-line", { hasText: "other" }).waitFor();
  await win.page.locator(".editor.original .view-line", { hasText: "raw" }).waitFor();
});

flow("a server that dies is started again, and that is one sentence", async () => {
  const dir = shop(on.world, "dies");
  const win = await on.editor.open(dir);
  await win.showTimeline();
  await win.expand("Remove the old module");
  await until(() => serving().length > 0);
  for (const pid of serving()) process.kill(pid, "SIGKILL");
  await win.row("README.md").click();
  await win.page.locator(".editor.modified .view-line", { hasText: "The old module is gone." }).waitFor();
  await win.message("The program rewind had ended, and was started again.");
});

flow("only this file, and the words of a prompt, are what the timeline can show", async () => {
  const dir = shop(on.world, "filter");
  const win = await on.editor.open(dir);
  await win.openFile("src/cart.ts");
  await win.command("Rewind: Only This File");
  await until(async () => (await win.rows()).length === 2);
  await win.row("Add a discount to the cart2 files").waitFor();
  await win.command("Rewind: Show All Snapshots");
  await win.row("Remove the old module").waitFor();
  await win.openFile("logo.png");
  await win.command("Rewind: Only This File");
  await win.row("Add a discount to the cart2 files").waitFor({ state: "detached" });
  await win.row("Remove the old module").waitFor();
  await win.command("Rewind: Show All Snapshots");
  await win.row("Add a discount to the cart2 files").waitFor();
  await win.command("Rewind: Filter the Timeline…");
  await win.answer("Filter the timeline", "old module");
  await until(async () => (await win.rows()).length === 2);
  await win.row("Remove the old module").waitFor();
});

flow("a folder that is refused says why", async () => {
  const home = await on.editor.open(on.world.home);
  await home.showTimeline();
  await home.page.locator(".message", { hasText: /home directory/ }).first().waitFor();
});
