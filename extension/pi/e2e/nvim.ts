// Draws the plug-in for Neovim for docs/neovim.md: the timeline with the files of a turn,
// and the difference of one of them, in the real editor.
//
//   node e2e/nvim.ts ../../docs/neovim.svg

import { writeFileSync } from "node:fs";
import path from "node:path";
import { BINARY, EXTENSION } from "./sandbox.ts";
import { story } from "./story.ts";
import { svg } from "./svg.ts";
import { Terminal } from "./terminal.ts";

const SIZE = { width: 104, height: 32 };
const PLUGIN = path.resolve(path.dirname(EXTENSION), "../../nvim");

const box = story();
const set = "set rtp^=" + PLUGIN + " termguicolors laststatus=2 noruler noshowcmd nohlsearch background=dark";
const program = `let g:rewind_program = "${path.resolve(BINARY)}"`;
const term = new Terminal(["nvim", "-u", "NONE", "-i", "NONE", "-n", "--cmd", set, "--cmd", program, "-c", "runtime plugin/rewind.lua", "-c", "syntax on", "src/search.py"], box, SIZE);
try {
  await term.until(/search\.py/, "the file");
  await term.enter(":RewindBlame");
  term.key("j", "j");
  await term.until(/“Tidy up/, "the prompt of the line");
  await term.enter(":Rewind");
  await term.until(/g\? shows the keys/, "the timeline");
  term.key("g", "g", "z", "R");
  await term.until(/D notes\.txt/, "what a turn removed");
  term.type("/D notes");
  term.key("Enter");
  await term.enter(":resize 21");
  await new Promise((resolve) => setTimeout(resolve, 500));
  const lines = term.coloured().trimEnd().replaceAll(box.repo, "/home/me/shop").split("\n"); // not where this was drawn
  writeFileSync(process.argv[2] ?? "neovim.svg", svg(lines.slice(0, -1), SIZE.width));
} finally {
  await term.close();
  box.close();
}
