// The parts that need no editor.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { History, PAGE } from "../src/history.ts";
import { lineText } from "../src/lines.ts";
import { arrange, countsOf, iconless, lastTurn, oneLine, select, type Session, titleOf, type Turn, turnOf, unlinked, when } from "../src/moments.ts";
import { covers, NOTHING, partsOf, placeOf, relativeTo, shownAt } from "../src/place.ts";
import { effectOf, rowsOf, split } from "../src/plan.ts";
import { findProgram, NoProgram } from "../src/program.ts";
import type { Change, Plan, Point, SnapshotRecord } from "../src/records.ts";

let clock = 0;
const tick = () => new Date(Date.UTC(2026, 10, 26) + 1000 * ++clock).toISOString();

function point(trigger: string, session = "", more: Partial<Point> = {}): Point {
  return { trigger, time: tick(), ...(session ? { session } : {}), ...more };
}

type Sum = Omit<NonNullable<SnapshotRecord["changed"]>, "names">;

function record(id: string, points: Point[], more: Omit<Partial<SnapshotRecord>, "changed"> & { changed?: Sum } = {}): SnapshotRecord {
  const { changed, ...rest } = more;
  return { id, tree: "", worktree: "", skipped: [], time: points[0]?.time ?? tick(), points, ...rest, ...(changed ? { changed: { names: [], ...changed } } : {}) };
}

/** Two prompts of one session, in between an edit by hand, beside it a snapshot by hand and another session. */
function past(): SnapshotRecord[] {
  const p1 = { entry: "p1", prompt: "fix the bug", agent: "claude" };
  const p2 = { entry: "p2", prompt: "again" };
  return [
    record("a0", [point("prompt", "s", p1)], { changed: { files: 9, added: 0, removed: 0 } }),
    record("a1", [point("tool", "s", p1)], { changed: { base: "a0", files: 1, added: 1, removed: 0 } }),
    record("a2", [point("turn", "s", p1)], { changed: { base: "a1", files: 2, added: 3, removed: 1 } }),
    record("h1", [point("")], { label: "by hand", changed: { base: "a2", files: 1, added: 1, removed: 0 } }),
    record("b0", [point("prompt", "s", p2)], { changed: { base: "h1", files: 1, added: 2, removed: 0 } }),
    record("o1", [point("prompt", "other", { prompt: "something else" })], { changed: { base: "b0", files: 0, added: 0, removed: 0 } }),
    record("b1", [point("turn", "s", p2)], { changed: { base: "b0", files: 1, added: 0, removed: 4 }, here: true }),
    record("u1", [point("undo")], { of_restore: true, names: ["undo:1"] }),
    record("u0", [point("undo")], { of_restore: true }),
  ].reverse();
}

test("snapshots are arranged as sessions and prompts, each with the states before and after", () => {
  const entries = arrange(past());
  assert.deepEqual(entries.map((e) => [e.kind, e.kind === "session" ? e.id : e.record.id]), [["single", "u1"], ["session", "s"], ["session", "other"], ["single", "h1"]]);
  const s = entries[1] as Session;
  assert.equal(s.title, "fix the bug");
  assert.equal(s.agent, "claude");
  assert.deepEqual(s.entries.map((e) => (e.kind === "turn" ? [e.prompt, e.from, e.to, e.steps.map((r) => r.id)] : [e.title, e.record.id])), [
    ["again", "b0", "b1", ["b1"]],
    ["Changed before “again”", "b0"],
    ["fix the bug", "a0", "a2", ["a2", "a1"]],
  ]);
  assert.equal(lastTurn(entries)?.prompt, "again");
  assert.equal(turnOf(entries, "a1")?.prompt, "fix the bug");
  assert.equal(turnOf(entries, "h1"), undefined);
});

test("a state that somebody gave a label has a row, also where a prompt began from it or a turn ended", () => {
  const label = point("", "", { label: "good" });
  const began = record("a", [label, point("prompt", "s", { prompt: "one" })], { label: "good", changed: { base: "x", files: 1, added: 1, removed: 0 } });
  const ended = record("b", [point("turn", "s", { prompt: "one" }), label], { label: "good", changed: { base: "a", files: 1, added: 1, removed: 0 } });
  const entries = arrange([ended, began]);
  assert.deepEqual(entries.filter((e) => e.kind === "single").map((e) => [e.title, e.record.id]), [["good", "b"], ["good", "a"]]);
  assert.deepEqual(entries.flatMap((e) => (e.kind === "session" ? e.entries.map((t) => t.kind) : [])), ["turn"]);
});

test("a turn whose beginning is not loaded, or whose end was never recorded, says so and invents nothing", () => {
  const p = { entry: "p", prompt: "go" };
  const cut = arrange([record("t", [point("turn", "s", p)], { changed: { base: "x", files: 1, added: 0, removed: 0 } })]);
  assert.deepEqual([(cut[0] as Session).entries[0]].map((t) => [(t as Turn).from, (t as Turn).to, (t as Turn).prompt]), [["x", "t", "go"]]);
  const first = record("b", [point("prompt", "s", { prompt: "one" })]);
  const open = arrange([first]);
  assert.equal(((open[0] as Session).entries[0] as Turn).to, undefined);
  const killed = arrange([record("c", [point("prompt", "s", { prompt: "two" })]), first]);
  const turns = (killed[0] as Session).entries.filter((e): e is Turn => e.kind === "turn");
  assert.deepEqual(turns.map((t) => [t.prompt, t.from, t.to]), [["two", "c", undefined], ["one", "b", "c"]]);
});

test("one snapshot may end a turn and begin the next", () => {
  const all = [record("a", [point("prompt", "s", { prompt: "one" })]), record("b", [point("turn", "s"), point("prompt", "s", { prompt: "two" })], { changed: { base: "a", files: 1, added: 1, removed: 0 } })].reverse();
  const [s] = arrange(all) as Session[];
  assert.deepEqual(s?.entries.map((e) => e.kind === "turn" && [e.prompt, e.from, e.to]), [["two", "b", undefined], ["one", "a", "b"]]);
});

test("what is told has no links and no icons but ours", () => {
  assert.equal(unlinked("[a](command:workbench.action.quit) is\ngone"), "[a] (command:workbench.action.quit) is gone");
  assert.equal(iconless("$(trash) a"), "\\$(trash) a");
});

test("text from outside is one line, without what hides or turns it", () => {
  assert.equal(oneLine(" a\n\tb\u202e\u001b[31m c\u2028 "), "a b [31m c");
  assert.equal(oneLine("x".repeat(300)).length, 200);
  assert.equal(titleOf(record("r", [point("prompt", "s", { prompt: "do\nit" })])), "Before “do it”");
  assert.equal(titleOf(record("r", [point("audit")])), "audit");
  assert.equal(titleOf(record("r", [point("undo")], { of_restore: true, names: ["undo:2"] })), "Before a restore");
  assert.equal(countsOf(record("r", [], { changed: { base: "b", files: 1, added: 2, removed: 3 } })), "1 file +2 −3");
  assert.equal(countsOf(record("r", [], { changed: { files: 1200, added: 0, removed: 0 } })), "all 1,200 files");
  assert.match(when("2020-01-02T03:04:05Z"), /^2020-01-0\d \d\d:\d\d$/);
  assert.equal(when("no time"), "");
});

test("a URI of a snapshot's file brings back any name", () => {
  for (const name of ["a b", "a%20b#c?d&e", "line\nend", "\\back/\"quote'", "ä/ü/😀", "..", "a//b", " "]) {
    const place = { root: "/w#%\n", id: "3f2a", path: name, path_b64: "//4=", status: "M" };
    assert.deepEqual(placeOf(partsOf(place)), place);
    assert.equal(partsOf(place).path, `/${name}`);
  }
  assert.equal(placeOf({ scheme: "file", path: "/a", query: "" }), undefined);
  assert.equal(placeOf({ scheme: "rewind", path: "/a", query: "{" }), undefined);
  assert.equal(placeOf({ scheme: "rewind", path: "/a", query: '{"root":1,"id":"x","path":"y"}' }), undefined);
  assert.deepEqual(placeOf(partsOf({ root: "/", id: NOTHING, path: "p" })), { root: "/", id: NOTHING, path: "p" });
});

test("a file is the same one below a folder that is a link, and outside of the folder that is open", () => {
  const p = path.posix;
  const view = { root: "/real/repo", folder: "/link", real: "/real/repo/packages/a" };
  assert.equal(relativeTo(view, "/link/x/y", p), "packages/a/x/y");
  assert.equal(relativeTo(view, "/link", p), "packages/a");
  assert.equal(relativeTo(view, "/real/repo/b", p), "b");
  assert.equal(relativeTo(view, "/linked/x", p), undefined);
  assert.equal(relativeTo({ ...view, root: "/real/repo", folder: "/real/repo", real: "/real/repo" }, "/real/repo/..odd", p), "..odd");
  assert.equal(shownAt(view, "packages/a/x#%", p), "/link/x#%");
  assert.equal(shownAt(view, "packages/ab", p), "/real/repo/packages/ab");
  const w = path.win32;
  assert.equal(relativeTo({ root: "C:\\w", folder: "C:\\w", real: "C:\\w" }, "C:\\w\\a\\b", w), "a/b");
  assert.ok(covers("a", "a/b") && covers("", "x") && !covers("a", "ab"));
});

function change(name: string, status: Change["status"], more: Partial<Change> = {}): Change {
  return { path: name, status, ...(status !== "D" ? { new_mode: "100644" } : {}), ...(status !== "A" ? { old_mode: "100644" } : {}), ...more };
}

function plan(changes: Change[], more: Partial<Plan> = {}): Plan {
  return { id: "i", plan: "p", written: 0, deleted: 0, elapsed_ms: 0, changes, kept: [], conflicts: [], ...more };
}

test("the list of a plan begins with deletions and names what stays", () => {
  const p = plan([change("a", "M"), change("b", "D"), change("c", "A"), change("dir", "D", { old_mode: "040755" })], { kept: [{ path: "k", reason: "nested\nrepository" }], conflicts: [{ path: "x", reason: "busy" }] });
  assert.deepEqual(rowsOf(p, ["u"]).map((r) => `${r.group}: ${r.path}: ${r.about}`), [
    "Deleted: b: deleted", "Unsaved text: left alone: u: an editor has unsaved text", "Cannot be restored: left alone: x: busy",
    "Written: a: changed", "Written: c: brought back", "Stays beside it: k: nested repository",
  ]);
  assert.equal(effectOf(p), "1 deleted, 2 written, 1 cannot be restored");
  assert.equal(effectOf(plan([])), "nothing to change");
  assert.equal(effectOf(plan([change("d", "A", { new_mode: "040755" })])), "only folders change");
});

test("nothing that covers a file with unsaved text is asked for", () => {
  const p = plan([change("a/b", "M"), change("a/c", "M"), change("a", "D", { old_mode: "040755" }), change("d", "M"), change("dd", "M"), change("e/f/g", "D")]);
  assert.deepEqual(split(p, [], []), { paths: undefined, unsaved: [], elsewhere: 0, unnamed: 0 });
  assert.deepEqual(split(p, ["z"], []).paths, undefined);
  assert.deepEqual(split(p, ["a/b"], []), { paths: [":(literal)a/c", ":(literal)d", ":(literal)dd", ":(literal)e/f/g"], unsaved: ["a/b"], elsewhere: 0, unnamed: 0 });
  // A file that would take the place of a directory in which there is unsaved text, and the other way round.
  assert.deepEqual(split(p, ["d/x"], []).unsaved, ["d/x"]);
  assert.ok(!split(p, ["d/x"], []).paths?.includes(":(literal)d"));
  assert.deepEqual(split(p, ["e/f"], []).paths?.includes(":(literal)e/f/g"), false);
  assert.deepEqual(split(p, ["d"], []).paths?.includes(":(literal)dd"), true);
});

test("what other folders of the workspace show is left out", () => {
  const odd = change("bad\ufffd", "M", { path_b64: "YmFk/w==" });
  const p = plan([change("in/a", "M"), change("other/b", "D"), change("other", "D", { old_mode: "040755" }), odd]);
  assert.deepEqual(split(p, [], ["other"]), { paths: [":(literal)in/a"], unsaved: [], elsewhere: 2, unnamed: 1 });
  assert.deepEqual(split(plan([change("other", "A")]), [], ["other/deep"]), { paths: [], unsaved: [], elsewhere: 1, unnamed: 0 });
});

test("the program is the one of the setting, or the first on the path that is no part of a folder", (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), "program-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const name = process.platform === "win32" ? "rewind.exe" : "rewind";
  for (const at of ["one", "two"]) {
    mkdirSync(path.join(dir, at));
    writeFileSync(path.join(dir, at, name), "");
    chmodSync(path.join(dir, at, name), 0o755);
  }
  mkdirSync(path.join(dir, "empty", name), { recursive: true });
  const PATH = ["", ".", "one", path.join(dir, "empty"), path.join(dir, "two"), path.join(dir, "one")].join(path.delimiter);
  assert.equal(findProgram(undefined, { PATH }), path.join(dir, "two", name));
  assert.equal(findProgram(path.join(dir, "one", name), { PATH }), path.join(dir, "one", name));
  for (const setting of [path.join(dir, "none"), "one/rewind", "rewind", path.join(dir, "one")]) assert.throws(() => findProgram(setting, { PATH }), NoProgram);
  assert.throws(() => findProgram(undefined, { PATH: "." }), NoProgram);
});

test("a line says which prompt brought it, and nothing where the editor shows another line", () => {
  const [turn, by] = [record("t1234567890abc", [point("prompt", "s", { prompt: "before" }), point("turn", "s", { prompt: "fix\nit", agent: "claude" })], { time: "2020-01-02T03:04:05Z" }), record("h", [], { label: "by hand" })];
  const blame = { path: "f", snapshots: [turn, by], lines: [{ line: 1, text: "a\r", snapshot: turn.id }, { line: 2, text: "b", snapshot: "h", older: true }, { line: 3, text: "c" }, { line: 4, text: "d", snapshot: "gone" }] };
  assert.match(lineText(blame, 1, "a")?.short ?? "", /^fix it · claude · 2020-01-0\d \d\d:\d\d$/);
  assert.match(lineText(blame, 1, "a")?.facts ?? "", /claude · .* · t1234567890a · session s$/);
  assert.match(lineText(blame, 2, "b")?.short ?? "", /^by hand · .* or older$/);
  assert.deepEqual(lineText(blame, 3, "c"), { short: "not recorded yet", title: "Not recorded yet", facts: "No snapshot has this line.", id: undefined });
  for (const [number, text] of [[1, "x"], [4, "d"], [5, ""], [0, ""]] as const) assert.equal(lineText(blame, number, text), undefined);
});

test("history is asked for page by page, and again only when something was recorded", async () => {
  const all = Array.from({ length: 600 }, (_, i) => record(`r${i}`, [point("")], { label: `label ${i}` }));
  const asked: Record<string, unknown>[] = [];
  const history = new History(async <T,>(_method: string, params: object) => {
    const p = params as { limit?: number; older?: string; paths?: string[] };
    asked.push(p as Record<string, unknown>);
    if (p.paths) return { snapshots: [all[5], all[500]] } as T;
    const from = p.older ? all.findIndex((r) => r.id === p.older) + 1 : 0;
    return { snapshots: all.slice(from, p.limit ? from + p.limit : undefined) } as T;
  }, () => "r400");
  const shown = () => history.records.map((r) => r.id);
  await Promise.all([history.load(), history.load()]);
  await history.load();
  assert.equal(asked.length, 1);
  assert.equal(history.records.length, PAGE);
  await history.older();
  assert.deepEqual(shown(), all.slice(0, 2 * PAGE).map((r) => r.id));

  all.unshift(record("new", [point("")]));
  history.outdated();
  await history.load();
  assert.deepEqual(asked.at(-1), { changes: true, limit: PAGE });
  assert.deepEqual(shown(), all.slice(0, 2 * PAGE + 1).map((r) => r.id), "what was there stays behind the page");
  assert.deepEqual(history.records.filter((r) => r.here).map((r) => r.id), ["r400"]);

  assert.deepEqual((await history.matching({ words: ["LABEL", "59"], title: "" })).map((e) => e.kind === "single" && e.title), ["label 59", ...Array.from({ length: 10 }, (_, i) => `label ${590 + i}`), "label 159", "label 259", "label 359", "label 459", "label 559"].sort((a, b) => Number(b.slice(6)) - Number(a.slice(6))));
  assert.equal(history.records.length, 601);
  assert.deepEqual((await history.matching({ paths: ["x"], title: "" })).map((e) => e.kind === "single" && e.record.id).sort(), ["r4", "r499"]);

  for (let i = 0; i < 300; i++) all.unshift(record(`n${i}`, [point("")]));
  history.outdated();
  await history.load();
  assert.equal(history.records.length, PAGE, "between the page and what was there some are missing");
  assert.equal(history.more, true);
});

test("a filter keeps the prompts that match, each with what is known of it", () => {
  const entries = arrange(past());
  const kept = (words: string[], touched?: string[]) => select(entries, words, touched && new Set(touched)).map((e) => (e.kind === "session" ? e.entries.map((t) => (t.kind === "turn" ? `${t.prompt} ${t.from}..${t.to}` : t.title)) : e.title));
  assert.deepEqual(kept(["BUG"]), [["fix the bug a0..a2"]]);
  assert.deepEqual(kept([], ["a1"]), [["fix the bug a0..a2"]]);
  assert.deepEqual(kept([], ["b0", "h1"]), [["Changed before “again”"], "by hand"]);
  assert.deepEqual(kept(["claude", "again"]), [["again b0..b1", "Changed before “again”"]]);
  assert.deepEqual(kept(["nothing"]), []);
});
