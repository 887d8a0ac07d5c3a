// Draws the browser for the README: a real session in a real terminal, as SVG.
//
//   node e2e/picture.ts ../../docs/browser.svg

import { writeFileSync } from "node:fs";
import { bash, say, startLlm, write } from "./llm.ts";
import { Sandbox } from "./sandbox.ts";
import { svg } from "./svg.ts";
import { Terminal } from "./terminal.ts";

const WIDTH = 104;
const HEIGHT = 36;

const CODE = `def read(path):
    with open(path) as f:
        return f.read()
`;
const SAFE = `def read(path, limit=1 << 20):
    with open(path) as f:
        return f.read(limit)
`;

const script = {
  "add a reader for the settings file": [write("settings.py", CODE), bash("python3 -m py_compile settings.py; rm -rf __pycache__"), say("There is a reader now.")],
  "limit how much it reads": [write("settings.py", SAFE), write("test_settings.py", "from settings import read\n\nassert len(read('settings.py', 3)) == 3\n"), say("It reads a mebibyte at most.")],
  "64 KiB are enough": [write("settings.py", SAFE.replace("1 << 20", "1 << 16")), say("64 KiB now.")],
};

const llm = await startLlm(script);
const box = new Sandbox(llm.url);
const term = new Terminal("1.5.2", box, { width: WIDTH, height: HEIGHT });
try {
  await term.until(/0 points/);
  let points = 0;
  for (const [prompt, steps] of Object.entries(script)) {
    await term.enter(prompt);
    points += steps.length + 1;
    await term.until(new RegExp(`${points} points`));
  }
  await term.enter("/rewind");
  await term.until(/newest first[^]*files are as at this point/);
  for (let i = 0; i < 4; i++) term.key("Down");
  await term.until(/❯ [\d:]+ +before this prompt[^]*Restore: \d/);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const lines = term.coloured().split("\n");
  const from = lines.findIndex((l) => l.includes("◆ Rewind"));
  const to = lines.findIndex((l) => l.includes("esc close"));
  writeFileSync(process.argv[2] ?? "browser.svg", svg(lines.slice(from, to + 1), WIDTH));
} finally {
  await term.close();
  await llm.close();
  box.close();
}
