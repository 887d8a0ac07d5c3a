// Records a terminal for the README: a shell, and the real program in it.
//
//   node e2e/shell.ts ../../docs/terminal.svg

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { BINARY, Sandbox } from "./sandbox.ts";
import { svg } from "./svg.ts";
import { Terminal } from "./terminal.ts";

const WIDTH = 92;
const HEIGHT = 60;
const PROMPT = "\\[\\e[1;32m\\]$\\[\\e[0m\\] ";

/** A command, and what is typed where it asks. */
const session: [command: string, question?: RegExp, answer?: string][] = [
  ["rewind snapshot -m 'before the agent'"],
  ["rm -r src notes.txt; echo 'import os' > new.py    # the agent works"],
  ["rewind diff --stat"],
  ["rewind restore @", /\[y\/N\] ?$/, "y"],
  ["cat notes.txt"],
  ["rewind undo --yes                          # it was not that bad"],
  ["rewind redo --yes                          # it was"],
  ["rewind list"],
  ["git status --short            # git noticed nothing"],
];

const box = new Sandbox("http://127.0.0.1:1");
box.write("src/app.py", "from store import Store\n\nprint(Store().read())\n");
box.write("src/store.py", "class Store:\n    def read(self):\n        return 'all of it'\n");
box.git("add", "-A");
box.git("commit", "-q", "-m", "an app");
box.write("notes.txt", "never added to git\n");
const bin = path.join(box.root, "bin");
mkdirSync(bin);
symlinkSync(BINARY, path.join(bin, "rewind"));
Object.assign(box.env, { PATH: `${bin}${path.delimiter}${box.env["PATH"]}`, PS1: PROMPT, BASH_SILENCE_DEPRECATION_WARNING: "1" });

const term = new Terminal(["bash", "--norc", "--noprofile", "-i"], box, { width: WIDTH, height: HEIGHT });
try {
  await term.until(prompts(1), "a prompt");
  for (const [i, [command, question, answer]] of session.entries()) {
    await term.enter(command);
    if (question) {
      await term.until((s) => question.test(s.trimEnd()), `the question of ${command}`);
      await term.enter(answer ?? "");
    }
    await term.until(prompts(i + 2), `the end of ${command}`);
  }
  const lines = term.coloured().trimEnd().split("\n").slice(0, -1); // but for the last prompt
  writeFileSync(process.argv[2] ?? "terminal.svg", svg(lines, WIDTH));
} finally {
  await term.close();
  box.close();
}

/** Whether the screen has so many prompts, and the last one waits. */
function prompts(wanted: number): (screen: string) => boolean {
  return (screen) => {
    const lines = screen.trimEnd().split("\n");
    return lines.filter((line) => line.startsWith("$")).length === wanted && lines.at(-1) === "$";
  };
}
