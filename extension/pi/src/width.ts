// Columns of text on a terminal, for lines that must fit exactly.

const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });

// Ranges of East Asian wide and full-width characters and of emoji.
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f], [0x231a, 0x231b], [0x2329, 0x232a], [0x23e9, 0x23ec], [0x2614, 0x2615], [0x26a1, 0x26a1], [0x2705, 0x2705],
  [0x274c, 0x274c], [0x2728, 0x2728], [0x2e80, 0x303e], [0x3041, 0xa4cf], [0xa960, 0xa97f], [0xac00, 0xd7a3], [0xf900, 0xfaff],
  [0xfe30, 0xfe6f], [0xff00, 0xff60], [0xffe0, 0xffe6], [0x1f1e6, 0x1f1ff], [0x1f300, 0x1f64f], [0x1f680, 0x1f6ff],
  [0x1f900, 0x1f9ff], [0x1fa70, 0x1faff], [0x20000, 0x3fffd],
];

function columns(grapheme: string): number {
  const code = grapheme.codePointAt(0) ?? 0;
  if (grapheme.includes("\ufe0f")) return 2;
  return WIDE.some(([from, to]) => from <= code && code <= to) ? 2 : 1;
}

/** Returns the text in exactly so many columns: cut with an ellipsis, or padded. */
export function fit(text: string, width: number): string {
  if (width <= 0) return "";
  let used = 0;
  let out = "";
  for (const { segment } of segments.segment(text)) {
    const wide = columns(segment);
    if (used + wide > width) {
      return trim(out, used, width - 1);
    }
    out += segment;
    used += wide;
  }
  return out + " ".repeat(width - used);
}

/** Like fit, but cuts in the middle: prompts and paths that begin alike often end differently. */
export function fitMiddle(text: string, width: number): string {
  const parts = [...segments.segment(text)].map((s) => s.segment);
  const total = parts.reduce((n, part) => n + columns(part), 0);
  const most = Math.floor((width - 1) * 0.4);
  if (total <= width || most < 3) return fit(text, width);
  let tail = "";
  let used = 0;
  for (let part = parts.pop(); part !== undefined && used + columns(part) <= most; part = parts.pop()) {
    tail = part + tail;
    used += columns(part);
  }
  return fit(text, width - used) + tail;
}

function trim(text: string, used: number, most: number): string {
  const parts = [...segments.segment(text)].map((s) => s.segment);
  while (used > most) used -= columns(parts.pop() ?? " ");
  return `${parts.join("")}…${" ".repeat(most - used)}`;
}
