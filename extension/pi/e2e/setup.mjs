// Installs what the end-to-end tests need into .pi/ and builds the binary:
//   .pi/pi073   Pi 0.73.1
//   .pi/pi152   Pi 1.5.2, from its tarball: its own dependencies are not all
//               published, but its bundle needs only jiti. Also the types.
//   .build/rewind
// Exit code 75: npm cannot reach what is needed; the tests cannot run.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const root = path.join(here, ".pi");
const UNREACHABLE = 75;

function run(command, args, cwd, env = process.env) {
  return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], shell: process.platform === "win32" });
}

/** Makes a folder once: the work is done beside it and put in place at the end. */
function once(name, make) {
  const target = path.join(root, name);
  if (existsSync(target)) return;
  const fresh = `${target}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  writeFileSync(path.join(fresh, "package.json"), "{}\n");
  console.log(`installing ${name}`);
  make(fresh);
  renameSync(fresh, target);
}

const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];

function unpack(dir, spec, name) {
  const tarballs = path.join(dir, "tarballs");
  mkdirSync(tarballs, { recursive: true });
  run("npm", ["pack", spec, "--silent", "--pack-destination", tarballs], dir);
  const [tarball] = readdirSync(tarballs);
  const target = path.join(dir, "node_modules", name);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  run("tar", ["xzf", path.join(tarballs, tarball), "-C", target, "--strip-components=1"], dir);
  rmSync(tarballs, { recursive: true });
}

try {
  once("pi073", (dir) => run("npm", ["install", "@mariozechner/pi-coding-agent@0.73.1", ...quiet], dir));
  once("pi152", (dir) => {
    run("npm", ["install", "jiti@2.7.0", "typebox@1.3.27", ...quiet], dir);
    for (const name of ["pi-coding-agent", "pi-agent-core", "pi-ai"]) unpack(dir, `@earendil-works/${name}@1.5.2`, `@earendil-works/${name}`);
    unpack(dir, "@earendil-works/pi-tui@0.87.1", "@earendil-works/pi-tui");
  });
} catch (error) {
  console.error(`Pi cannot be installed: ${error.message}`);
  process.exit(UNREACHABLE);
}
if (!process.env.REWIND_BINARY) {
  run("go", ["build", "-o", path.join(here, ".build", process.platform === "win32" ? "rewind.exe" : "rewind"), "./cmd/rewind"], path.resolve(here, "../.."), { ...process.env, CGO_ENABLED: "0" });
}
