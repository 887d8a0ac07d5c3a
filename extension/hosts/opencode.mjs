// OpenCode, headless, with the plugin and the commands in its configuration folder.
import { cpSync, existsSync, rmSync } from "node:fs";
import path from "node:path";
import { checkout, installed, program, put, run } from "./host.mjs";

const folder = (sb) => path.join(sb.home, ".config/opencode");
const ours = ["plugins/rewind.js", "commands/rewind-list.md", "commands/rewind-restore.md", "commands/rewind-undo.md"];

export const opencode = {
  name: "opencode", package: "opencode-ai", version: "1.18.33", beside: ["@opencode-ai/plugin@1.18.33"],
  tools: (repo) => ({
    write: (a) => ({ name: "write", args: { filePath: path.join(repo, a.path), content: a.content } }),
    bash: (a) => ({ name: "bash", args: { command: a.command, description: "run it" } }),
    task: (a) => ({ name: "task", args: { description: "sub", prompt: a.prompt, subagent_type: "general" } }),
  }),
  prepare(sb, model) {
    put(path.join(folder(sb), "opencode.json"), {
      $schema: "https://opencode.ai/config.json", autoupdate: false, share: "disabled", model: "fake/fake-1", small_model: "fake/fake-1", permission: "allow",
      provider: { fake: { npm: "@ai-sdk/openai-compatible", name: "Fake", options: { baseURL: `${model.origin}/v1`, apiKey: "fake-key" }, models: { "fake-1": { name: "Fake 1", tool_call: true, limit: { context: 128000, output: 4096 } } } } },
    });
    // It fetches this package into its configuration folder by itself, which takes long: what setup installed is given to it.
    for (const deps of [path.join(installed, "opencode/plugin-deps"), path.join(installed, "opencode")]) {
      if (existsSync(path.join(deps, "node_modules/@opencode-ai/plugin"))) {
        for (const f of ["package.json", "package-lock.json"]) cpSync(path.join(deps, f), path.join(folder(sb), f));
        cpSync(path.join(deps, "node_modules"), path.join(folder(sb), "node_modules"), { recursive: true, verbatimSymlinks: true, filter: (from) => !/opencode-(ai|linux|darwin|windows)/.test(from) });
        break;
      }
    }
    Object.assign(sb.env, { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_SHARE: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1" });
  },
  install: async (sb) => (ours.forEach((f) => cpSync(path.join(checkout, "extension/opencode", f), path.join(folder(sb), f))), []),
  uninstall: async (sb) => (ours.forEach((f) => rmSync(path.join(folder(sb), f))), []),
  ask: (sb, prompt, again) => {
    const [, command, rest] = /^\/(\S+)\s*(.*)$/.exec(prompt) ?? [];
    return run([program("opencode"), "run", ...(again ? ["--continue"] : []), "--auto", ...(command ? ["--command", command, ...(rest ? [rest] : [])] : [prompt])], { cwd: sb.repo, env: sb.env });
  },
  commands: { list: "/rewind-list", restore: "/rewind-restore the state before P2", undo: "/rewind-undo" },
};
