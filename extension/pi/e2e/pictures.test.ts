// The recorded terminal and the interface of the README, and Neovim, can be drawn again:
// their scripts run, and the program says in them what the pages show.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

test("the terminal of the README is recorded from the real program", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "rewind-picture-"));
  try {
    const file = path.join(dir, "terminal.svg");
    execFileSync(process.execPath, [path.join(import.meta.dirname, "shell.ts"), file], { stdio: "pipe" });
    const picture = readFileSync(file, "utf8");
    assert.match(picture, /^<svg [^]*<\/svg>\n$/);
    const text = picture.replace(/<[^>]*>/g, "");
    assert.match(text, /4 written, 1 deleted[^]*1 written, 4 deleted[^]*4 written, 1 deleted/, "restore, undo, redo");
    assert.doesNotMatch(text, /^rewind: |command not found/m, "nothing went wrong");
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("the interface of the README is drawn from the real program", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "rewind-picture-"));
  try {
    const file = path.join(dir, "ui.svg");
    execFileSync(process.execPath, [path.join(import.meta.dirname, "ui.ts"), file], { stdio: "pipe" });
    const picture = readFileSync(file, "utf8");
    assert.match(picture, /^<svg [^]*<\/svg>\n$/);
    const text = picture.replace(/<[^>]*>/g, "");
    assert.match(text, /Tidy up[^]*search-works[^]*never added to git/, "the turn that removed a file, and the file");
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("Neovim is drawn from the real plug-in", (t) => {
  if (spawnSync("nvim", ["--version"]).status !== 0) return t.skip("there is no nvim");
  const dir = mkdtempSync(path.join(os.tmpdir(), "rewind-picture-"));
  try {
    const file = path.join(dir, "neovim.svg");
    execFileSync(process.execPath, [path.join(import.meta.dirname, "nvim.ts"), file], { stdio: "pipe" });
    const text = readFileSync(file, "utf8").replace(/<[^>]*>/g, "");
    assert.match(text, /items:\s+“Tidy up[^]*Now: 1 not recorded[^]*D notes\.txt/, "the prompt of a line, what is not recorded, the turn that removed a file");
    assert.ok(!text.includes(os.tmpdir()), "it names no place on this machine");
  } finally {
    rmSync(dir, { recursive: true });
  }
});
