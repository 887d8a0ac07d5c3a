// GitHub Copilot CLI, headless and offline, with the plugin from the marketplace of this repository.
import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { checkout, installed, program, put, run } from "./host.mjs";

const cli = (sb, ...args) => run([program("copilot"), ...args], { cwd: sb.repo, env: sb.env });

export const copilot = {
  name: "copilot", package: "@github/copilot", version: "1.0.102",
  tools: (repo) => ({
    write: (a) => ({ name: "create", args: { path: path.join(repo, a.path), file_text: a.content } }),
    bash: (a) => ({ name: "bash", args: { command: a.command, description: "run it", mode: "sync", initial_wait: 30 } }),
    task: (a) => ({ name: "task", args: { description: "sub work", prompt: a.prompt, agent_type: "general-purpose", mode: "sync", name: "sub" } }),
  }),
  prepare(sb, model) {
    // The program unpacks itself below the cache when it first starts, which takes seconds: all runs share that.
    const cache = path.join(installed, "copilot/cache"), home = path.join(sb.home, ".copilot");
    mkdirSync(cache, { recursive: true });
    mkdirSync(path.join(sb.home, ".cache"), { recursive: true });
    symlinkSync(cache, path.join(sb.home, ".cache/copilot"));
    put(path.join(home, "config.json"), { trustedFolders: [sb.repo], trusted_folders: [sb.repo], autoUpdate: false, banner: "never" });
    Object.assign(sb.env, { COPILOT_HOME: home, COPILOT_OFFLINE: "true", COPILOT_AUTO_UPDATE: "false", COPILOT_PROVIDER_BASE_URL: `${model.origin}/v1`, COPILOT_PROVIDER_API_KEY: "fake-key", COPILOT_MODEL: "gpt-4.1", COPILOT_PROVIDER_MAX_PROMPT_TOKENS: "120000" });
  },
  install: async (sb) => [await cli(sb, "plugin", "marketplace", "add", checkout), await cli(sb, "plugin", "install", "rewind@rewind")],
  uninstall: async (sb) => [await cli(sb, "plugin", "uninstall", "rewind@rewind"), await cli(sb, "plugin", "marketplace", "remove", "rewind")],
  ask: (sb, prompt, again) => cli(sb, "-p", prompt, "--allow-all", "--no-color", "--no-auto-update", "--disable-client-telemetry", ...(again ? ["--continue"] : [])),
  commands: { list: "P4 what was recorded?", restore: "P5 put back what there was before P2", undo: "P6 take that back" },
  lists: true,
  skill: (name) => ({ name: "skill", args: { skill: name } }),
};
