// Draws a screen of a terminal as SVG.

const CELL = { width: 8.4, height: 18 };
const INK = "#d4d4d4";
const PAPER = "#1b1b1f";

interface Run {
  text: string;
  ink: string;
  paper: string | undefined;
  bold: boolean;
  faint: boolean;
  column: number;
}

/** How a run looks. */
type Style = Omit<Run, "text" | "column">;

const USUAL: Style = { ink: INK, paper: undefined, bold: false, faint: false };

/** Cuts a line into runs of one appearance. */
function runs(line: string): Run[] {
  const list: Run[] = [];
  let style = USUAL;
  let column = 0;
  for (const part of line.split(/(\x1b\[[\d;:]*m)/)) {
    const codes = /^\x1b\[([\d;:]*)m$/.exec(part);
    if (codes) style = styled(style, (codes[1] ?? "").split(/[;:]/).map(Number));
    else if (part !== "") {
      list.push({ text: part, column, ...style });
      column += cells(part);
    }
  }
  return list;
}

/** How many cells text takes: an ideograph takes two. */
function cells(text: string): number {
  return [...text].reduce((sum, c) => sum + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(c) ? 2 : 1), 0);
}

function styled(style: Style, codes: number[]): Style {
  const next = { ...style };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(next, USUAL);
    if (code === 1) next.bold = true;
    if (code === 2) next.faint = true;
    if (code === 22) Object.assign(next, { bold: false, faint: false });
    if (code === 39) next.ink = INK;
    if (code === 49) next.paper = undefined;
    if (code >= 30 && code <= 37) next.ink = indexed(code - 30);
    if (code >= 40 && code <= 47) next.paper = code === 44 ? "#2f5a8f" : indexed(code - 40);
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

/** The picture of a screen of so many columns, given with its escapes of colour. */
export function svg(lines: string[], columns: number): string {
  const rows = lines.map(runs);
  while (rows.at(-1)?.every((r) => r.text.trim() === "")) rows.pop();
  const width = columns * CELL.width + 24;
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
  if (run.paper) out.push(`<rect x="${x(run.column)}" y="${top}" width="${(cells(run.text) * CELL.width).toFixed(1)}" height="${CELL.height}" fill="${run.paper}"/>`);
  const text = run.text.trimEnd();
  const inked = text.trimStart();
  if (inked === "") return out;
  const column = run.column + cells(text) - cells(inked);
  const length = (cells(inked) * CELL.width).toFixed(1);
  const bold = (run.bold ? ' font-weight="bold"' : "") + (run.faint ? ' fill-opacity="0.6"' : "");
  out.push(`<text xml:space="preserve" x="${x(column)}" y="${top + 14}" fill="${run.ink}"${bold} textLength="${length}" lengthAdjust="spacingAndGlyphs">${escape(inked)}</text>`);
  return out;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
