// What the editor waits for when it starts the extension: the bundle, run with a fake of the editor.

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

test("the editor's start takes its API once, and does not wait for a process", async () => {
  const program = process.execPath;
  const folder = { name: "here", uri: { scheme: "file", fsPath: import.meta.dirname } };
  const settings = { get: (name: string, or: unknown) => (name === "path" ? program : or) };
  const names = ["window", "commands", "languages", "scm", "EventEmitter", "TreeItemCollapsibleState", "StatusBarAlignment", "DecorationRangeBehavior", "ThemeColor", "Disposable"];
  const vscode = { ...Object.fromEntries(names.map((name) => [name, fake()])), workspace: fake({ isTrusted: true, workspaceFolders: [folder], getConfiguration: () => settings }) };
  const required: string[] = [];
  const started: string[] = [];
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
  assert.equal(module.exports.activate({ subscriptions: [], extension: { packageJSON: {} } }), undefined);
  assert.deepEqual(started, []);
  assert.equal(required.filter((name) => name === "vscode").length, 1);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(started, [program]);
});
