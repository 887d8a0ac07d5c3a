// What the tests of all agents share: where they are installed, a home of their own,
// a process runner, and how each is installed, asked and freed of rewind again.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { claude } from "./claude.mjs";
import { codex } from "./codex.mjs";
import { copilot } from "./copilot.mjs";
import { gemini } from "./gemini.mjs";
import { opencode } from "./opencode.mjs";
import { qwen } from "./qwen.mjs";

/** Those that speak the Agent Client Protocol when they are started so. */
export const speaking = {
  opencode: ["acp"], gemini: ["--acp", "--yolo", "-m", "gemini-2.5-flash"], qwen: ["--acp", "--yolo"], kilo: ["acp"], cline: ["--acp"],
  "claude-acp": [], "codex-acp": [],
};

/** Those that are proved without a plugin of ours. */
export const others = {
  cline: {
    package: "cline", version: "3.0.65", command: "cline",
    tools: () => {
      const bash = (command) => ({ name: "run_commands", args: { commands: [command] } });
      return { bash: (a) => bash(a.command), write: (a) => bash(`printf '%s' '${a.content}' > ${a.path}`) };
    },
    prepare(sb, model) {
      Object.assign(sb.env, { CLINE_API_KEY: "x", CLINE_PROVIDER: "openai-compatible", CLINE_MODEL: "fake-1" }); // it asks for no login then, where it speaks ACP
      return run([program("cline"), "auth", "--provider", "openai", "--apikey", "x", "--modelid", "fake-1", "--baseurl", `${model.origin}/v1`], { cwd: sb.repo, env: sb.env });
    },
  },
  "claude-acp": { ...claude, package: "@agentclientprotocol/claude-agent-acp", version: "0.101.0", command: "claude-agent-acp" },
  "codex-acp": { ...codex, package: "@agentclientprotocol/codex-acp", version: "2.6.0", command: "codex-acp" },
  continue: { package: "@continuedev/cli", version: "1.5.47", command: "cn" },
  kilo: {
    package: "@kilocode/cli", version: "7.7.7", command: "kilo", tools: opencode.tools,
    prepare(sb, model) { // it is made from OpenCode, and has other names for all of it
      opencode.prepare(sb, model);
      cpSync(path.join(sb.home, ".config/opencode"), path.join(sb.home, ".config/kilo"), { recursive: true });
      cpSync(path.join(sb.home, ".config/opencode/opencode.json"), path.join(sb.home, ".config/kilo/kilo.json"));
      for (const [name, value] of Object.entries(sb.env)) if (name.startsWith("OPENCODE_")) sb.env[name.replace("OPENCODE", "KILO")] = value;
    },
  },
};

export const agents = { claude, codex, opencode, gemini, copilot, qwen };

const here = path.dirname(fileURLToPath(import.meta.url));
export const checkout = path.resolve(here, "../..");
export const installed = path.resolve(process.env.REWIND_AGENTS_DIR ?? path.join(here, "installed"));
export const nodeDir = path.join(installed, "node/node_modules/node/bin");
export const patience = Number(process.env.REWIND_AGENTS_SECONDS ?? 150); // for one prompt
export const program = (agent, command = agent) => path.join(installed, agent, "node_modules/.bin", command);

export function put(file, content) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2) + "\n");
}

/** A home, a repository and an environment in which nothing of the user's is seen. */
export function sandbox(root, binary) {
  const home = path.join(root, "home"), repo = path.join(root, "project"), bin = path.join(root, "bin"), tmp = path.join(root, "tmp");
  for (const d of [home, repo, bin, tmp]) mkdirSync(d, { recursive: true });
  symlinkSync(binary, path.join(bin, "rewind"));
  writeFileSync(path.join(home, ".profile"), `PATH=${bin}:$PATH\n`); // Codex runs commands in a login shell
  const env = {
    PATH: `${bin}:${nodeDir}:${process.env.PATH}`, HOME: home, TMPDIR: tmp, LANG: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/bash", USER: "tester",
    XDG_CONFIG_HOME: path.join(home, ".config"), XDG_DATA_HOME: path.join(home, ".local/share"), XDG_STATE_HOME: path.join(home, ".local/state"), XDG_CACHE_HOME: path.join(home, ".cache"),
    GIT_CONFIG_NOSYSTEM: "1", GIT_AUTHOR_NAME: "T", GIT_AUTHOR_EMAIL: "t@example.invalid", GIT_COMMITTER_NAME: "T", GIT_COMMITTER_EMAIL: "t@example.invalid",
    NO_PROXY: "127.0.0.1,localhost", DO_NOT_TRACK: "1",
  };
  return { root, home, repo, env };
}

/** Takes a sandbox away, and ends what an agent has left running in it, as Cline does its hub. */
export function remove(root) {
  for (const pid of existsSync("/proc/self/environ") ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : []) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${path.join(root, "home")}`)) process.kill(Number(pid), "SIGKILL");
    } catch { /* it has ended, or is of somebody else */ }
  }
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}

/** Runs a program to its end; the whole group of it is killed when it takes too long. */
export function run(argv, { cwd, env, seconds = patience }) {
  return new Promise((resolve) => {
    const child = spawn(argv[0], argv.slice(1), { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let stdout = "", stderr = "", late = false;
    child.stdout.setEncoding("utf8").on("data", (d) => (stdout += d));
    child.stderr.setEncoding("utf8").on("data", (d) => (stderr += d));
    const timer = setTimeout(() => { late = true; try { process.kill(-child.pid, "SIGKILL"); } catch { /* it has ended */ } }, seconds * 1000);
    child.on("error", (e) => { stderr += String(e); });
    child.on("close", (code) => { clearTimeout(timer); resolve({ code, late, stdout, stderr }); });
  });
}

/** The files below a directory, without git's: path to content. */
export function files(dir, base = dir, out = {}) {
  if (!existsSync(dir)) return out;
  for (const e of readdirSync(dir, { withFileTypes: true })) {
    const full = path.join(dir, e.name);
    if (e.name === ".git" || e.name === "node_modules") continue;
    if (e.isDirectory()) files(full, base, out);
    else if (e.isFile()) out[path.relative(base, full)] = statSync(full).size > 1 << 20 ? "(big)" : readFileSync(full, "utf8");
  }
  return out;
}
