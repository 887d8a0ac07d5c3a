// Installing: the folder, the package by its name, and the repository itself. The
// latter two need npm; what it asks for is on this machine.

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { test } from "node:test";
import { SCRIPT } from "./flow.ts";
import { startLlm } from "./llm.ts";
import { Pi } from "./rpc.ts";
import { BINARY, PI, Sandbox, type Version, versions } from "./sandbox.ts";

const here = path.resolve(import.meta.dirname, "..");

/** What npm needs to know of this machine, and a home of its own. */
function environment(box: Sandbox): Record<string, string> {
  const npm = Object.entries(process.env).filter(([name]) => /^npm_config_|_proxy$|^NODE_EXTRA_CA_CERTS$|^SSL_CERT/i.test(name));
  const { REWIND_BINARY: _, PI_OFFLINE: __, ...env } = { ...(Object.fromEntries(npm) as Record<string, string>), ...box.env };
  const userconfig = process.env["npm_config_userconfig"] ?? path.join(process.env["HOME"] ?? "", ".npmrc");
  return { ...env, npm_config_userconfig: userconfig };
}

function install(box: Sandbox, version: Version, source: string, env: Record<string, string>): void {
  execFileSync(process.execPath, [PI[version], "install", source], { cwd: box.repo, env, stdio: "pipe" });
}

/** Pi with nothing but what is installed. */
function start(box: Sandbox, version: Version, env: Record<string, string>): Pi {
  return new Pi(version, Object.assign(Object.create(box) as Sandbox, { env: { ...env, PI_OFFLINE: "1" } }), [], "");
}

async function works(box: Sandbox, version: Version, env: Record<string, string>): Promise<void> {
  const pi = start(box, version, env);
  try {
    await pi.prompt("P1 create");
    await pi.state();
    assert.match(pi.status.get("rewind") ?? "", /3 points \/ 2 snapshots/, JSON.stringify(pi.notes));
    pi.settled();
  } finally {
    await pi.stop();
  }
}

for (const version of versions()) {
  test(`the folder is installed in place, the program found in PATH (Pi ${version})`, async () => {
    const llm = await startLlm(SCRIPT);
    const box = new Sandbox(llm.url);
    try {
      install(box, version, here, environment(box));
      await works(box, version, withProgram(box, environment(box)));
    } finally {
      await llm.close();
      box.close();
    }
  });

  test(`the repository is installed from its URL; without the program there is one notice (Pi ${version})`, async () => {
    const llm = await startLlm(SCRIPT);
    const box = new Sandbox(llm.url);
    try {
      const url = "https://github.com/seed-82afce7a/rewind";
      const env: Record<string, string> = { ...environment(box), GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: `url.file://${published(box)}.insteadOf`, GIT_CONFIG_VALUE_0: url };
      install(box, version, url, env);
      const bare = (env["PATH"] ?? "").split(path.delimiter).filter((dir) => !existsSync(path.join(dir, "rewind"))).join(path.delimiter);
      const pi = start(box, version, { ...env, PATH: bare });
      try {
        await pi.prompt("P1 create");
        assert.equal(box.read("notes.txt"), "one\n");
        const said = pi.notes.filter((n) => n.message.includes("ewind"));
        assert.equal(said.length, 1, JSON.stringify(pi.notes));
        assert.match(said[0]?.message ?? "", /^Rewind is off: no rewind program .* none is in PATH/);
        pi.settled();
      } finally {
        await pi.stop();
      }
      box.write("notes.txt", "");
      await works(box, version, withProgram(box, env));
    } finally {
      await llm.close();
      box.close();
    }
  });
}

/** The environment with the program in PATH. */
function withProgram(box: Sandbox, env: Record<string, string>): Record<string, string> {
  const bin = path.join(box.root, "bin");
  mkdirSync(bin);
  symlinkSync(BINARY, path.join(bin, "rewind"));
  return { ...env, PATH: `${bin}${path.delimiter}${env["PATH"]}` };
}

/** A repository with what of this one concerns Pi, as it is in the files now. */
function published(box: Sandbox): string {
  const root = path.resolve(here, "../..");
  const origin = path.join(box.root, "published");
  const git = (dir: string, ...args: string[]) => execFileSync("git", args, { cwd: dir, env: box.env, encoding: "utf8" });
  for (const file of git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "package.json", "extension").split("\0")) {
    if (file && existsSync(path.join(root, file))) cpSync(path.join(root, file), path.join(origin, file));
  }
  git(origin, "init", "-q", "-b", "main");
  git(origin, "add", "-A");
  git(origin, "commit", "-q", "-m", "published");
  return origin;
}

test("the package is installed by its name, with the program for this platform", async () => {
  const llm = await startLlm(SCRIPT);
  const box = new Sandbox(llm.url);
  const dist = path.join(box.root, "dist");
  let registry: ChildProcess | undefined;
  try {
    packed(dist);
    registry = spawn(process.execPath, [path.join(tools, "registry.mjs"), path.join(dist, "npm")], { stdio: ["pipe", "pipe", "inherit"] });
    const [url] = (await once(registry.stdout as Readable, "data")) as [Buffer];
    const env = { ...environment(box), npm_config_registry: url.toString().trim() };
    install(box, "1.5.2", "npm:@seed-82afce7a/pi-rewind", env);
    await works(box, "1.5.2", env);
    packagesAreWhole(path.join(box.agentDir, "npm"), box);
  } finally {
    registry?.stdin?.end();
    await llm.close();
    box.close();
  }
});

const tools = path.resolve(here, "../../tools/npm");
const version = "1.2.3-test.1";

/** The packages of a release that has the program for this platform alone. */
function packed(dist: string): void {
  mkdirSync(dist);
  cpSync(BINARY, path.join(dist, "rewind"));
  const goos = process.platform === "win32" ? "windows" : process.platform;
  const goarch = process.arch === "x64" ? "amd64" : process.arch;
  writeFileSync(path.join(dist, "metadata.json"), JSON.stringify({ version }));
  writeFileSync(path.join(dist, "artifacts.json"), JSON.stringify([{ type: "Binary", goos, goarch, path: "dist/rewind" }]));
  execFileSync(process.execPath, [path.join(tools, "pack.mjs"), dist], { stdio: "pipe" });
}

/** What each package has, as npm has unpacked it, and `rewind` on the path. */
function packagesAreWhole(prefix: string, box: Sandbox): void {
  const program = `rewind-${process.platform}-${process.arch}`;
  for (const name of ["pi-rewind", "rewind", program]) {
    const dir = path.join(prefix, "node_modules/@seed-82afce7a", name);
    const manifest = JSON.parse(readFileSync(path.join(dir, "package.json"), "utf8")) as { version: string; publishConfig?: object };
    assert.equal(manifest.version, version, name);
    assert.deepEqual(manifest.publishConfig, { access: "public" }, name);
    assert.match(readFileSync(path.join(dir, "LICENSE"), "utf8"), /^MIT License/, name);
  }
  const notices = readFileSync(path.join(prefix, "node_modules/@seed-82afce7a", program, "THIRD-PARTY-NOTICES.txt"), "utf8");
  for (const work of ["Go go1", "go.etcd.io/bbolt v", "github.com/klauspost/compress v"]) assert.ok(notices.includes(`\n${work}`), work);
  const run = (...args: string[]) => spawnSync(path.join(prefix, "node_modules/.bin/rewind"), args, { cwd: box.repo, env: box.env, encoding: "utf8" });
  assert.match(run("--version").stdout, /^rewind version .+ \(.*go1\..*\)\n$/);
  assert.equal(run("show", "nothing").status, 3, "the exit code is passed on");
}
