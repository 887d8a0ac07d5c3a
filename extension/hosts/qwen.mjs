// Qwen Code, headless, with the extension of this repository.
import path from "node:path";
import { checkout, nodeDir, program, put, run } from "./host.mjs";

const cli = (sb, ...args) => run([path.join(nodeDir, "node"), program("qwen"), ...args], { cwd: sb.repo, env: sb.env });

export const qwen = {
  name: "qwen", package: "@qwen-code/qwen-code", version: "0.24.4",
  tools: (repo) => ({
    write: (a) => ({ name: "write_file", args: { file_path: path.join(repo, a.path), content: a.content } }),
    bash: (a) => ({ name: "run_shell_command", args: { command: a.command, description: "run it", is_background: false } }),
    task: (a) => ({ name: "agent", args: { description: "sub work", prompt: a.prompt, subagent_type: "general-purpose" } }),
  }),
  prepare(sb, model) {
    put(path.join(sb.home, ".qwen/settings.json"), {
      security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
      general: { disableAutoUpdate: true, enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
    });
    Object.assign(sb.env, { OPENAI_API_KEY: "fake-key", OPENAI_BASE_URL: `${model.origin}/v1`, OPENAI_MODEL: "fake-1", QWEN_TELEMETRY_ENABLED: "false" });
  },
  install: async (sb) => [await cli(sb, "extensions", "install", "--consent", path.join(checkout, "extension/qwen"))],
  uninstall: async (sb) => [await cli(sb, "extensions", "uninstall", "rewind")],
  ask: (sb, prompt, again) => cli(sb, "-p", prompt, "--yolo", ...(again ? ["--continue"] : [])),
  commands: { list: "/rewind:list", restore: "/rewind:restore the state before P2", undo: "/rewind:undo" },
  own: (all) => Object.fromEntries(Object.entries(all).filter(([file]) => file.startsWith(".qwen/extensions/rewind"))),
};
