// Draws the terminal interface for the README: the real program, on a history of two
// sessions of an agent.
//
//   node e2e/ui.ts ../../docs/ui.svg

import { writeFileSync } from "node:fs";
import { BINARY } from "./sandbox.ts";
import { story } from "./story.ts";
import { svg } from "./svg.ts";
import { Terminal } from "./terminal.ts";

const SIZE = { width: 118, height: 32 };

const box = story();
const term = new Terminal([BINARY, "ui"], box, SIZE);
try {
  await term.until(/\? help/, "the interface");
  term.key("End", "Space"); // open the older session
  await term.until(/search-works/, "a pin");
  term.key("Home", "Down", "Down", "Down");
  await term.until(/notes\.txt/, "what the turn removed");
  term.key("2");
  await term.until(/┏━ What/, "the files");
  writeFileSync(process.argv[2] ?? "ui.svg", svg(term.coloured().trimEnd().split("\n"), SIZE.width));
} finally {
  await term.close();
  box.close();
}
