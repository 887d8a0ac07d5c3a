// A home, an agent directory and a project of its own for one test.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const here = path.resolve(import.meta.dirname, "..");
export const EXTENSION = path.join(here, "src", "index.ts");
export const BINARY = process.env["REWIND_BINARY"] ?? path.join(here, ".build", "rewind");

export interface Entry {
  id: string;
  parentId: string | null;
  type: string;
  timestamp: string;
  customType?: string;
  data?: { v: number; snapshots?: string[]; bindings?: [string, number][]; current?: number | string; undo?: number | string };
  message?: { role: string; content: unknown; toolName?: string };
  label?: string;
  targetId?: string;
  cwd?: string;
  parentSession?: string;
}

export interface SandboxOptions {
  settings?: object;
  git?: boolean;
  /** Directory below the project to run in. */
  sub?: string;
  binary?: string | undefined;
}

export class Sandbox {
  readonly root = mkdtempSync(path.join(os.tmpdir(), "rewind-pi-"));
  readonly home = path.join(this.root, "home");
  readonly agentDir = path.join(this.root, "agent");
  readonly repo = path.join(this.root, "repo");
  readonly cwd: string;
  readonly env: Record<string, string>;

  constructor(llmUrl: string, options: SandboxOptions = {}) {
    this.cwd = path.join(this.repo, options.sub ?? ".");
    for (const dir of [this.home, this.agentDir, this.cwd, path.join(this.root, "tmp")]) mkdirSync(dir, { recursive: true });
    const model = { id: "fake-1", name: "Fake", reasoning: false, input: ["text"], contextWindow: 128000, maxTokens: 4096, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
    this.json("models.json", { providers: { fake: { baseUrl: llmUrl, api: "openai-completions", apiKey: "none", models: [model] } } });
    this.json("settings.json", {
      defaultProvider: "fake", defaultModel: "fake-1", defaultThinkingLevel: "off", quietStartup: true, enableInstallTelemetry: false,
      defaultProjectTrust: "always", retry: { enabled: true, maxRetries: 3, baseDelayMs: 20 }, ...options.settings,
    });
    this.env = {
      PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8", TERM: "xterm-256color", TMPDIR: path.join(this.root, "tmp"), HOME: this.home,
      GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: os.devNull,
      GIT_AUTHOR_NAME: "T", GIT_AUTHOR_EMAIL: "t@example.invalid", GIT_COMMITTER_NAME: "T", GIT_COMMITTER_EMAIL: "t@example.invalid",
      PI_CODING_AGENT_DIR: this.agentDir, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0",
      REWIND_BINARY: options.binary ?? BINARY,
    };
    this.write("README.md", "seed\n");
    if (options.git !== false) {
      this.git("init", "-q", "-b", "main");
      this.git("add", "-A");
      this.git("commit", "-q", "-m", "seed");
    }
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.repo, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  }

  rewind(...args: string[]): string {
    return execFileSync(BINARY, args, { cwd: this.repo, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  write(name: string, text: string): void {
    const file = path.join(this.repo, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** The text of a file of the project, undefined if it is not there. */
  read(name: string): string | undefined {
    try {
      return readFileSync(path.join(this.repo, name), "utf8");
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw err;
    }
  }

  remove(name: string): void {
    rmSync(path.join(this.repo, name), { recursive: true });
  }

  /** Session files, oldest first. */
  sessions(): string[] {
    const dir = path.join(this.agentDir, "sessions");
    if (!existsSync(dir)) return [];
    const files = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(".jsonl"));
    return files.map((f) => path.join(dir, f)).sort((a, b) => statSync(a).birthtimeMs - statSync(b).birthtimeMs);
  }

  /**
   * The program of a version. At its start Pi compiles the extension, which takes longer than all else, and keeps
   * the result in TMPDIR/jiti, by the hash of each source: the tests of a version share it.
   */
  pi(version: Version): string {
    const shared = path.join(here, ".pi", `compiled-${version}`);
    const own = path.join(this.root, "tmp", "jiti");
    if (!existsSync(own) || realpathSync(own) !== path.resolve(shared)) {
      mkdirSync(shared, { recursive: true });
      rmSync(own, { force: true });
      symlinkSync(shared, own);
    }
    return PI[version];
  }

  close(): void {
    if (process.env["KEEP"]) console.log(`kept ${this.root}`);
    else rmSync(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }); // Pi may still write its caches
  }

  private json(name: string, value: object): void {
    writeFileSync(path.join(this.agentDir, name), JSON.stringify(value));
  }
}

export function readSession(file: string): Entry[] {
  return readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line) as Entry);
}

/** The Pi builds, and the program that runs them. */
export const PI = {
  "1.5.2": path.join(here, ".pi/pi152/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
  "0.73.1": path.join(here, ".pi/pi073/node_modules/@mariozechner/pi-coding-agent/dist/cli.js"),
} as const;

export type Version = keyof typeof PI;

const VERSIONS: readonly Version[] = ["1.5.2", "0.73.1"];
let turn = 0;

/** What a test runs on: both in a deep run, and by turns in a usual one. */
export function versions(): readonly Version[] {
  return process.env["REWIND_DEEP"] ? VERSIONS : VERSIONS.slice(turn++ % 2).slice(0, 1);
}
