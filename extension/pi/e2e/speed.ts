// What the end of a turn costs: a snapshot by a serving process after one file
// was edited, beside the git commands of pi-rewind-hook, in one run, in turns.
//
//   node e2e/speed.ts DIR [ROUNDS]     DIR is a git repository; it is edited

import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Client } from "../src/client.ts";
import type { Snapshot as Recorded } from "../src/protocol.ts";
import { BINARY } from "./sandbox.ts";

const EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const [dir, count = "15"] = process.argv.slice(2);
if (!dir || !existsSync(path.join(dir, ".git"))) throw new Error("node e2e/speed.ts DIR [ROUNDS]: DIR is a git repository");
const rounds = Number(count);
const index = path.join(os.tmpdir(), `rewind-speed-${process.pid}`);
const env = { ...process.env, GIT_CONFIG_GLOBAL: os.devNull, GIT_AUTHOR_NAME: "S", GIT_AUTHOR_EMAIL: "s@example.invalid", GIT_COMMITTER_NAME: "S", GIT_COMMITTER_EMAIL: "s@example.invalid" };
const git = (args: string[], more: object = {}) => execFileSync("git", args, { cwd: dir, env: { ...env, ...more }, encoding: "utf8", maxBuffer: 1 << 28 }).trim();
const files = git(["ls-files", "*.c", "*.go", "*.md", "*.ts"]).split("\n").filter(Boolean);

let tip = "";

/** What the hook runs at the end of a turn. */
function hook(): void {
  rmSync(index, { force: true });
  git(["add", "-A"], { GIT_INDEX_FILE: index });
  const tree = git(["write-tree"], { GIT_INDEX_FILE: index });
  const commit = git(["commit-tree", tree, "-m", "pi rewind snapshot"]);
  const link = git(["commit-tree", EMPTY, ...(tip ? ["-p", tip] : []), "-p", commit, "-m", "pi rewind store"]);
  git(["update-ref", "refs/speed/store", link, tip || "0".repeat(40)]);
  tip = link;
}

const client = new Client({ binary: BINARY });
await client.request("initialize", { protocol: 1, dir });
git(["hash-object", "-t", "tree", "-w", os.devNull]);
const times: Record<"rewind" | "hook", number[]> = { rewind: [], hook: [] };
for (let round = -1; round < rounds; round++) {
  for (const who of round % 2 === 0 ? (["rewind", "hook"] as const) : (["hook", "rewind"] as const)) {
    appendFileSync(path.join(dir, files[(round + 1) * 2 * 37 % files.length] as string), `// ${who} ${round}\n`);
    const begun = performance.now();
    if (who === "hook") hook();
    else await snapshot();
    if (round >= 0) times[who].push(performance.now() - begun); // the first round warms up
  }
}
await client.close();
git(["update-ref", "-d", "refs/speed/store"]);
rmSync(index, { force: true });

async function snapshot(): Promise<void> {
  const recorded = await client.request<Recorded>("snapshot", { trigger: "turn" });
  if (recorded.reused) throw new Error("the edit was not seen");
}

const sorted = (list: number[]) => [...list].sort((a, b) => a - b).map((ms) => Math.round(ms));
for (const [who, list] of Object.entries(times)) {
  const ms = sorted(list);
  console.log(`${who}: median ${ms[ms.length >> 1]} ms, ${ms[0]} to ${ms.at(-1)} ms, ${ms.length} turns`);
}
console.log(`${git(["ls-files"]).split("\n").length} files`);
