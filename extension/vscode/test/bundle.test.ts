// The bundle, run with a fake of the editor.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";

function nothing(): void {}

/** An object of which each property and each answer is such an object again, but those that are given. */
function fake(given: object = {}): object {
  return new Proxy(nothing, { get: (_, name) => Reflect.get(given, name) ?? (name === Symbol.toPrimitive ? () => "" : fake()), apply: () => fake(), construct: () => fake(), set: () => true });
}

/** Runs the bundle up to the end of activate. */
function activated() {
  const program = process.execPath;
  const folder = { name: "here", uri: { scheme: "file", fsPath: import.meta.dirname } };
  const settings = { get: (name: string, or: unknown) => (name === "path" ? program : or) };
  const required: string[] = [];
  const started: string[] = [];
  const said: string[] = [];
  const commands = new Map<string, (...args: unknown[]) => unknown>();
  const names = ["languages", "scm", "EventEmitter", "TreeItemCollapsibleState", "StatusBarAlignment", "DecorationRangeBehavior", "ThemeColor", "Disposable"];
  const vscode = {
    ...Object.fromEntries(names.map((name) => [name, fake()])),
    commands: fake({ registerCommand: (name: string, run: (...args: unknown[]) => unknown) => commands.set(name, run) }),
    window: fake({ showErrorMessage: (text: string) => said.push(text) }),
    workspace: fake({ isTrusted: true, workspaceFolders: [folder], getConfiguration: () => settings }),
  };
  const spawn = (file: string) => {
    started.push(file);
    throw new Error("it is counted, not started");
  };
  const load = createRequire(import.meta.url);
  const require = (name: string): unknown => {
    required.push(name);
    return name === "vscode" ? vscode : name === "node:child_process" ? { spawn } : load(name);
  };
  const module = { exports: {} as { activate: (context: object) => unknown } };
  new Function("require", "module", readFileSync(path.join(import.meta.dirname, "../dist/extension.cjs"), "utf8"))(require, module);
  const answer = module.exports.activate({ subscriptions: [], extension: { packageJSON: {} } });
  return { answer, program, required, started, said, commands };
}

test("the editor's start takes its API once, and does not wait for a process", async () => {
  const { answer, program, required, started } = activated();
  assert.equal(answer, undefined);
  assert.deepEqual(started, []);
  assert.equal(required.filter((name) => name === "vscode").length, 1);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(started, [program]);
});

test("a choice in the menu of a row that the editor has forgotten says so, and nothing else", async () => {
  const { said, commands } = activated();
  const ofRows = ["openDiff", "openFile", "openWorktreeFile", "openChanges", "openChangesNow", "restoreBefore", "restoreAfter", "revert", "copyId"];
  for (const name of ofRows) {
    await commands.get(`rewind.${name}`)?.(undefined);
    assert.deepEqual(said.splice(0), ["Rewind: The rows were just being shown anew: choose once more"], name);
  }
});
