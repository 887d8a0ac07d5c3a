// Key presses as names, from plain terminals and from those with Kitty's
// keyboard protocol.

const PLAIN: Readonly<Record<string, string>> = {
  "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
  "\x1b[5~": "pageUp", "\x1b[6~": "pageDown", "\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home",
  "\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end",
  "\r": "enter", "\n": "enter", "\x1b": "escape", "\x03": "ctrl+c", "\t": "tab", " ": "space",
};

const CODES: Readonly<Record<number, string>> = { 13: "enter", 27: "escape", 9: "tab", 32: "space", 57414: "enter" };

/** Names a key press; a letter is itself; undefined for a release and what is not a key. */
export function keyName(data: string): string | undefined {
  const plain = PLAIN[data];
  if (plain) return plain;
  const kitty = /^\x1b\[(\d+)(?::\d*)*(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u$/.exec(data);
  if (kitty) return kitty[3] === "3" ? undefined : fromCode(Number(kitty[1]), Number(kitty[2] || 1) - 1);
  const arrow = /^\x1b\[1;\d+(?::(\d+))?([ABHF])$/.exec(data);
  if (arrow) return arrow[1] === "3" ? undefined : PLAIN[`\x1b[${arrow[2]}`];
  return /^[!-~]$/.test(data) ? data : undefined;
}

function fromCode(code: number, modifiers: number): string | undefined {
  const ctrl = (modifiers & 4) !== 0;
  if (ctrl && code === 99) return "ctrl+c";
  if (modifiers & ~(1 | 64 | 128)) return undefined; // shift and the locks do not change the meaning
  const named = CODES[code];
  if (named) return named;
  return code > 32 && code < 127 ? String.fromCharCode(code) : undefined;
}
