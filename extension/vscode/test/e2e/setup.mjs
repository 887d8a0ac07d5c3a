// Installs a real VS Code (code-server) with a node of its own, and what drives a
// browser, below installed/; once. Exit code 75: something is not to be had, and
// the tests cannot run.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { browser, INSTALLED, NODE } from "./editor.mjs";

const UNREACHABLE = 75;

function skip(why) {
  console.error(`SKIPPED: the tests of the VS Code extension in the real editor: ${why}`);
  process.exit(UNREACHABLE);
}

function run(command, args, cwd, env = {}) {
  execFileSync(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
}

const quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"];

if (!["linux", "darwin"].includes(process.platform)) skip(`code-server is not for ${process.platform}`);
if (!browser()) skip("there is no Chromium; install one, or say where it is with CHROMIUM");
if (!existsSync(path.join(INSTALLED, "ready"))) {
  for (const tool of ["gcc", "make", "python3", "pkg-config"]) {
    try {
      run(tool, ["--version"], ".");
    } catch {
      skip(`there is no ${tool}, which code-server's own modules are built with (and libkrb5-dev)`);
    }
  }
  const fresh = `${INSTALLED}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  writeFileSync(path.join(fresh, "package.json"), "{}\n");
  console.log("installing code-server, node and playwright-core: 1.2 GB, some minutes, once");
  try {
    run("npm", ["install", ...quiet.slice(0, 3), "node@24.21.0"], fresh);
    const env = { PATH: `${path.join(fresh, NODE, "..")}${path.delimiter}${process.env.PATH}`, npm_config_user_agent: "npm/11 node/v24.21.0" };
    run("npm", ["install", ...quiet, "code-server@4.139.1", "playwright-core@1.65.1"], fresh, env);
    run("npm", ["exec", "--yes", "--", "node-gyp-build"], path.join(fresh, "node_modules/argon2"), env);
    run("sh", ["./postinstall.sh"], path.join(fresh, "node_modules/code-server"), env);
  } catch (error) {
    skip(error.message.split("\n")[0]);
  }
  writeFileSync(path.join(fresh, "ready"), "");
  rmSync(INSTALLED, { recursive: true, force: true });
  renameSync(fresh, INSTALLED);
}
