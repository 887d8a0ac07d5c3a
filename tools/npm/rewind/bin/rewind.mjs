#!/usr/bin/env node
// Puts `rewind` on the path where this package is installed: runs the program
// from the package for this platform, which npm installs beside it.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const platform = `${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "rewind.exe" : "rewind";

let binary;
try {
  const manifest = createRequire(import.meta.url).resolve(`@seed-82afce7a/rewind-${platform}/package.json`);
  binary = path.join(path.dirname(manifest), "bin", name);
} catch {
  console.error(`rewind: there is no program for ${platform} beside this package. Install it again without --omit=optional, or in another way: https://github.com/seed-82afce7a/rewind#install`);
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`rewind: ${binary} cannot be run: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  process.exitCode = code ?? 128 + (os.constants.signals[signal] ?? 0);
});
