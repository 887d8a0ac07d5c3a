// A program in a terminal of its own: a private tmux server.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { EXTENSION, type Sandbox, type Version } from "./sandbox.ts";

const TIMEOUT_MS = 120_000; // a hang, not a slow machine
let count = 0;

export class Terminal {
  private readonly socket = `rewind-e2e-${process.pid}-${++count}`;

  /** Starts Pi's terminal interface, or another program by its command line. */
  constructor(program: Version | string[], box: Sandbox, size: { width: number; height: number } = { width: 110, height: 40 }) {
    const argv = typeof program !== "string" ? program : [process.execPath, box.pi(program), "--provider", "fake", "--model", "fake-1", "-e", EXTENSION];
    const script = path.join(box.root, "start.sh");
    const env = Object.entries(box.env).map(([name, value]) => quote(`${name}=${value}`));
    writeFileSync(script, `#!/bin/sh\ncd ${quote(box.cwd)}\nexec env -i COLORTERM=truecolor ${env.join(" ")} ${argv.map(quote).join(" ")}\n`, { mode: 0o755 });
    this.tmux("new-session", "-d", "-s", "pi", "-x", String(size.width), "-y", String(size.height), script);
    this.tmux("set-option", "-g", "escape-time", "0");
    this.tmux("set-option", "-g", "remain-on-exit", "on");
  }

  type(text: string): void {
    this.tmux("send-keys", "-t", "pi", "-l", text);
  }

  key(...keys: string[]): void {
    this.tmux("send-keys", "-t", "pi", ...keys);
  }

  /** Types a line and sends it. */
  async enter(text: string): Promise<void> {
    this.type(text);
    await this.until((s) => s.includes(text), `the line ${text}`);
    this.key("Enter");
  }

  screen(): string {
    return this.tmux("capture-pane", "-p", "-t", "pi").replace(/[ \t]+$/gm, "");
  }

  /** The screen with its colours. */
  coloured(): string {
    return this.tmux("capture-pane", "-p", "-e", "-t", "pi");
  }

  /** Waits until the screen shows what is wanted. */
  async until(is: RegExp | ((screen: string) => boolean), what = String(is)): Promise<string> {
    const test = typeof is === "function" ? is : (s: string) => is.test(s);
    for (const end = Date.now() + TIMEOUT_MS; ; ) {
      const screen = this.screen();
      if (test(screen)) return screen;
      if (Date.now() > end) throw new Error(`the screen never showed ${what}:\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
  }

  /** Ends Pi and waits until it is gone: it may still write its caches. */
  async close(): Promise<void> {
    try {
      const pid = Number(this.tmux("display-message", "-p", "-t", "pi", "#{pane_pid}"));
      this.tmux("kill-server");
      for (let i = 0; i < 200 && alive(pid); i++) await new Promise((resolve) => setTimeout(resolve, 50));
    } catch {
      // it has ended
    }
  }

  private tmux(...args: string[]): string {
    return execFileSync("tmux", ["-L", this.socket, "-f", "/dev/null", ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, LANG: "C.UTF-8", LC_ALL: "C.UTF-8" } });
  }
}

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
