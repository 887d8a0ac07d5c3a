// Draws the browser for the README: a real session in a real terminal, as SVG.
//
//   node e2e/picture.ts ../../docs/browser.svg

import { writeFileSync } from "node:fs";
import { bash, say, startLlm, write } from "./llm.ts";
import { Sandbox } from "./sandbox.ts";
import { Terminal } from "./terminal.ts";

const WIDTH = 104;
const HEIGHT = 36;
const CELL = { width: 8.4, height: 18 };
const INK = "#d4d4d4";
const PAPER = "#1b1b1f";

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

interface Run {
  text: string;
  ink: string;
  paper: string | undefined;
  bold: boolean;
  column: number;
}

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
  writeFileSync(process.argv[2] ?? "browser.svg", svg(lines.slice(from, to + 1).map(runs)));
} finally {
  await term.close();
  await llm.close();
  box.close();
}

/** Cuts a line into runs of one appearance. */
function runs(line: string): Run[] {
  const list: Run[] = [];
  let style = { ink: INK, paper: undefined as string | undefined, bold: false };
  let column = 0;
  for (const part of line.split(/(\x1b\[[\d;:]*m)/)) {
    const codes = /^\x1b\[([\d;:]*)m$/.exec(part);
    if (codes) style = styled(style, (codes[1] ?? "").split(/[;:]/).map(Number));
    else if (part !== "") {
      list.push({ text: part, column, ...style });
      column += [...part].length;
    }
  }
  return list;
}

function styled(style: { ink: string; paper: string | undefined; bold: boolean }, codes: number[]): typeof style {
  const next = { ...style };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(next, { ink: INK, paper: undefined, bold: false });
    if (code === 1) next.bold = true;
    if (code === 22) next.bold = false;
    if (code === 39) next.ink = INK;
    if (code === 49) next.paper = undefined;
    if (code >= 30 && code <= 37) next.ink = indexed(code - 30);
    if (code >= 90 && code <= 97) next.ink = indexed(code - 82);
    if (code === 38 || code === 48) {
      const direct = codes[i + 1] === 2;
      const colour = direct ? `rgb(${codes.slice(i + 2, i + 5).join(",")})` : indexed(codes[i + 2] ?? 0);
      if (code === 38) next.ink = colour;
      else next.paper = colour;
      i += direct ? 4 : 2;
    }
  }
  return next;
}

/** A colour of the terminal's palette of 256. */
function indexed(n: number): string {
  const basic = ["#555", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d4d4d4"];
  if (n < 16) return basic[n % 8] as string;
  if (n >= 232) return `rgb(${Array(3).fill(8 + (n - 232) * 10).join(",")})`;
  const level = (v: number) => (v === 0 ? 0 : 55 + v * 40);
  const cube = n - 16;
  return `rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level).join(",")})`;
}

function svg(rows: Run[][]): string {
  while (rows.at(-1)?.every((r) => r.text.trim() === "")) rows.pop();
  const width = WIDTH * CELL.width + 24;
  const height = rows.length * CELL.height + 24;
  const body = rows.flatMap((row, y) => row.flatMap((run) => draw(run, 12, 12 + y * CELL.height)));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">
<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>
${body.join("\n")}
</svg>
`;
}

/** Draws a run; blanks at its ends take no ink. */
function draw(run: Run, left: number, top: number): string[] {
  const x = (column: number) => (left + column * CELL.width).toFixed(1);
  const out: string[] = [];
  if (run.paper) out.push(`<rect x="${x(run.column)}" y="${top}" width="${([...run.text].length * CELL.width).toFixed(1)}" height="${CELL.height}" fill="${run.paper}"/>`);
  const text = run.text.trimEnd();
  const inked = text.trimStart();
  if (inked === "") return out;
  const column = run.column + [...text].length - [...inked].length;
  const length = ([...inked].length * CELL.width).toFixed(1);
  const bold = run.bold ? ' font-weight="bold"' : "";
  out.push(`<text xml:space="preserve" x="${x(column)}" y="${top + 14}" fill="${run.ink}"${bold} textLength="${length}" lengthAdjust="spacingAndGlyphs">${escape(inked)}</text>`);
  return out;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
