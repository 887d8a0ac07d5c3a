// A project of a few files with a history, as an agent with hooks makes it.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const repository = path.resolve(import.meta.dirname, "../../../..");

export class World {
  constructor() {
    this.top = mkdtempSync(path.join(tmpdir(), "vsc-world-"));
    this.bin = path.join(this.top, "bin");
    this.home = path.join(this.top, "home");
    mkdirSync(this.bin);
    mkdirSync(this.home);
    execFileSync("go", ["build", "-o", path.join(this.bin, "rewind"), "./cmd/rewind"], { cwd: repository, stdio: "inherit" });
    this.env = { PATH: `${this.bin}${path.delimiter}${process.env.PATH}`, HOME: this.home, GIT_CONFIG_GLOBAL: path.join(this.home, ".gitconfig"), GIT_CONFIG_SYSTEM: "/dev/null", XDG_STATE_HOME: path.join(this.home, "state") };
    // The editor asks the login shell for the path, as for anybody.
    writeFileSync(path.join(this.home, ".profile"), `export PATH=${this.bin}:$PATH\n`);
    writeFileSync(path.join(this.home, ".gitconfig"), "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n[safe]\ndirectory = *\n");
  }

  dir(...parts) {
    return path.join(this.top, ...parts);
  }

  run(cwd, command, ...args) {
    return execFileSync(command, args, { cwd, env: { ...process.env, ...this.env }, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  rewind(cwd, ...args) {
    return this.run(cwd, path.join(this.bin, "rewind"), ...args);
  }

  /** A git repository with files: new, or a copy of a real project that has them too, which is this one. */
  project(name, files, real = false) {
    const dir = this.dir(name);
    mkdirSync(dir, { recursive: true });
    this.run(dir, "git", ...(real ? ["clone", "-q", "--no-local", "--depth", "50", `file://${repository}`, "."] : ["init", "-q"]));
    this.write(dir, files);
    this.run(dir, "git", "add", "-A");
    this.run(dir, "git", "commit", "-qm", "first");
    return dir;
  }

  write(dir, files) {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(dir, name);
      if (text === null) {
        rmSync(file, { recursive: true });
        continue;
      }
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }

  hook(dir, event, message) {
    execFileSync(path.join(this.bin, "rewind"), ["hook", "generic", event], { cwd: dir, env: { ...process.env, ...this.env }, input: JSON.stringify(message) });
  }

  /** What an agent with hooks does for one prompt. */
  turn(dir, session, prompt, ...steps) {
    const about = { session, prompt_id: `${session}-${prompt}`, prompt };
    this.hook(dir, "before", about);
    for (const [i, files] of steps.entries()) {
      this.write(dir, files);
      if (i < steps.length - 1) this.hook(dir, "after-tool", { ...about, tool: "edit" });
    }
    this.hook(dir, "after", about);
  }

  remove() {
    rmSync(this.top, { recursive: true, force: true });
  }
}
