// Installing: the folder, and the packed tarball with the package of this
// platform. Only the latter needs npm; what it asks for is on this machine.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { SCRIPT } from "./flow.ts";
import { startLlm } from "./llm.ts";
import { Pi } from "./rpc.ts";
import { BINARY, PI, Sandbox, type Version, VERSIONS } from "./sandbox.ts";

const here = path.resolve(import.meta.dirname, "..");

/** What npm needs to know of this machine, and a home of its own. */
function environment(box: Sandbox): Record<string, string> {
  const npm = Object.entries(process.env).filter(([name]) => /^npm_config_|_proxy$|^NODE_EXTRA_CA_CERTS$|^SSL_CERT/i.test(name));
  const { REWIND_BINARY: _, PI_OFFLINE: __, ...env } = { ...(Object.fromEntries(npm) as Record<string, string>), ...box.env };
  const userconfig = process.env["npm_config_userconfig"] ?? path.join(process.env["HOME"] ?? "", ".npmrc");
  return { ...env, npm_config_userconfig: userconfig };
}

function install(box: Sandbox, version: Version, source: string): void {
  execFileSync(process.execPath, [PI[version], "install", source], { cwd: box.repo, env: environment(box), stdio: "pipe" });
}

async function works(box: Sandbox, version: Version, env: Record<string, string>): Promise<void> {
  const pi = new Pi(version, Object.assign(Object.create(box) as Sandbox, { env: { ...env, PI_OFFLINE: "1" } }), [], "");
  try {
    await pi.prompt("P1 create");
    await pi.state();
    assert.match(pi.status.get("rewind") ?? "", /3 points \/ 2 snapshots/, JSON.stringify(pi.notes));
    pi.settled();
  } finally {
    await pi.stop();
  }
}

for (const version of VERSIONS) {
  test(`the folder is installed in place, the program found in PATH (Pi ${version})`, async () => {
    const llm = await startLlm(SCRIPT);
    const box = new Sandbox(llm.url);
    try {
      install(box, version, here);
      const bin = path.join(box.root, "bin");
      mkdirSync(bin);
      symlinkSync(BINARY, path.join(bin, "rewind"));
      const env = environment(box);
      await works(box, version, { ...env, PATH: `${bin}${path.delimiter}${env["PATH"]}` });
    } finally {
      await llm.close();
      box.close();
    }
  });
}

test("the packed tarball is installed, with the program for this platform beside it", async () => {
  const llm = await startLlm(SCRIPT);
  const box = new Sandbox(llm.url);
  try {
    const out = path.join(box.root, "packed");
    const platform = `${process.platform}-${process.arch}`;
    execFileSync(process.execPath, [path.join(here, "pack.mjs"), out, platform], { cwd: here, stdio: "pipe" });
    const tarballs = readdirSync(out).filter((f) => f.endsWith(".tgz")).map((f) => path.join(out, f));
    const extension = tarballs.find((f) => f.includes("pi-rewind")) as string;
    const program = tarballs.find((f) => f.includes(platform)) as string;
    install(box, "1.5.2", `npm:@seed-82afce7a/pi-rewind@file:${extension}`);
    // What npm does by itself where the package of the platform is published.
    execFileSync("npm", ["install", "--legacy-peer-deps", "--no-audit", "--no-fund", program], { cwd: path.join(box.agentDir, "npm"), env: environment(box), stdio: "pipe" });
    await works(box, "1.5.2", environment(box));
  } finally {
    await llm.close();
    box.close();
  }
});
