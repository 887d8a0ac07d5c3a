// The recorded terminal and the interface of the README can be drawn again: their
// scripts run, and the program says in them what the README shows.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
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
