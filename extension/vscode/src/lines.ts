// What is said of a line: which prompt brought it, and when.

import { oneLine, titleOf, when } from "./moments.ts";
import type { Blame } from "./records.ts";

export interface LineText {
  /** Behind the line. */
  short: string;
  title: string;
  facts: string;
  /** The snapshot that brought it; undefined: none has it yet. */
  id: string | undefined;
}

/** What is known of the line with a number, if it is the line that the editor shows. */
export function lineText(blame: Blame, number: number, shown: string): LineText | undefined {
  const line = blame.lines[number - 1];
  if (!line || line.line !== number || line.text.replace(/\r$/, "") !== shown) return undefined;
  if (!line.snapshot) return { short: "not recorded yet", title: "Not recorded yet", facts: "No snapshot has this line.", id: undefined };
  const record = blame.snapshots.find((s) => s.id === line.snapshot);
  if (!record) return undefined;
  const point = record.points.findLast((p) => p.session);
  const title = titleOf(record);
  const agent = point?.agent ? oneLine(point.agent, 40) : "";
  const time = when(record.time);
  const older = line.older ? "or older" : "";
  return {
    short: [oneLine(title, 60), agent, `${time}${older ? ` ${older}` : ""}`].filter(Boolean).join(" · "), title,
    facts: [agent, time, older, record.id.slice(0, 12), point?.session ? `session ${oneLine(point.session, 40)}` : ""].filter(Boolean).join(" · "), id: record.id,
  };
}
