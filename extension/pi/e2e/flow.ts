// A test on each Pi, in a sandbox of its own, and what such tests share.

import test from "node:test";
import { type Llm, say, startLlm, type Step, write } from "./llm.ts";
import { Pi } from "./rpc.ts";
import { type Entry, Sandbox, type SandboxOptions, type Version, versions } from "./sandbox.ts";

export const KEEP = "Conversation only (keep current files)";
export const ALL = "Restore all (files + conversation)";
export const CODE = "Code only (restore files, keep conversation)";
export const UNDO = "Undo last file rewind";

export const SCRIPT: Record<string, Step[]> = {
  "P1 create": [write("notes.txt", "one\n"), say("done 1")],
  "P2 edit": [write("notes.txt", "two\n"), say("done 2")],
  "P3 more": [write("more.txt", "more\n"), say("done 3")],
};

export interface World {
  pi: Pi;
  box: Sandbox;
  llm: Llm;
  version: Version;
}

/** Runs a test on a Pi, or on each, in a sandbox of its own. */
export function flow(name: string, run: (w: World) => Promise<void>, options: SandboxOptions & { script?: Record<string, Step[]>; args?: string[] } = {}): void {
  for (const version of versions()) {
    test(`${name} (Pi ${version})`, async () => {
      const llm = await startLlm({ ...SCRIPT, ...options.script });
      const box = new Sandbox(llm.url, options);
      const pi = new Pi(version, box, options.args);
      try {
        await run({ pi, box, llm, version });
        pi.settled();
      } finally {
        await pi.stop();
        await llm.close();
        box.close();
      }
    });
  }
}

export function bindings(entries: Entry[]): Map<string, string> {
  const bound = new Map<string, string>();
  for (const e of entries) {
    if (e.customType !== "rewind-turn" && e.customType !== "rewind-op") continue;
    for (const [entry, index] of e.data?.bindings ?? []) bound.set(entry, e.data?.snapshots?.[index] as string);
  }
  return bound;
}
