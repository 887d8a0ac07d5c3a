// Where the rewind binary is: a setting, npm's package of it, PATH.

import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const PACKAGE = "@seed-82afce7a/rewind";
const NAME = process.platform === "win32" ? "rewind.exe" : "rewind";

/** Thrown when there is no binary; the message is for the user. */
export class NoBinary extends Error {
  override name = "NoBinary";
}

/** Finds the binary: the setting if there is one (it must work), else the first that exists. */
export function findBinary(setting: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  const given = setting ?? env["REWIND_BINARY"];
  if (given) {
    if (path.isAbsolute(given) && executable(given)) return given;
    throw new NoBinary(`Rewind is off: ${given} is not a program (setting rewind.binary; it must be an absolute path)`);
  }
  const found = platformBinary() ?? onPath(env);
  if (found) return found;
  throw new NoBinary(
    `Rewind is off: no rewind program for ${process.platform}-${process.arch} was installed and none is in PATH. ` +
      "Install it, or set rewind.binary in Pi's settings.json to its path",
  );
}

/** The binary for this machine, which the package that this one depends on brings along. */
function platformBinary(): string | undefined {
  try {
    const launcher = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`);
    const manifest = createRequire(launcher).resolve(`${PACKAGE}-${process.platform}-${process.arch}/package.json`);
    const binary = path.join(path.dirname(manifest), "bin", NAME);
    return executable(binary) ? binary : undefined;
  } catch {
    return undefined;
  }
}

function onPath(env: NodeJS.ProcessEnv): string | undefined {
  const dirs = (env["PATH"] ?? "").split(path.delimiter).filter((dir) => path.isAbsolute(dir));
  return dirs.map((dir) => path.join(dir, NAME)).find(executable);
}

function executable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
