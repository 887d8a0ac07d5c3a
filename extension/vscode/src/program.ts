// Where the program `rewind` is: the setting, which no workspace can make, or
// the path.

import { accessSync, constants, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const NAME = process.platform === "win32" ? "rewind.exe" : "rewind";

/** There is no program to start; the message is for people. */
export class NoProgram extends Error {
  override name = "NoProgram";
}

/** Finds the program: the one that the setting names, which must be there, else the first on the path. */
export function findProgram(setting: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  if (setting) {
    const given = setting.startsWith("~/") ? path.join(os.homedir(), setting.slice(2)) : setting;
    if (path.isAbsolute(given) && isProgram(given)) return given;
    throw new NoProgram(`${setting} is not a program: the setting rewind.path takes its absolute path`);
  }
  // A relative directory on the path would be one of the folder that is open.
  const dirs = (env["PATH"] ?? "").split(path.delimiter).filter((dir) => path.isAbsolute(dir));
  const found = dirs.map((dir) => path.join(dir, NAME)).find(isProgram);
  if (found) return found;
  throw new NoProgram("The program rewind is not on the path");
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
