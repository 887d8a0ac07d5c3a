// Gemini CLI, headless, with the extension of this repository.
import path from "node:path";
import { checkout, nodeDir, program, put, run } from "./host.mjs";

const cli = (sb, ...args) => run([path.join(nodeDir, "node"), program("gemini"), ...args], { cwd: sb.repo, env: sb.env });

export const gemini = {
  name: "gemini", package: "@google/gemini-cli", version: "0.61.0",
  tools: (repo) => ({
    write: (a) => ({ name: "write_file", args: { file_path: path.join(repo, a.path), content: a.content } }),
    bash: (a) => ({ name: "run_shell_command", args: { command: a.command, description: "run it" } }),
    task: (a) => ({ name: "invoke_agent", args: { agent_name: "generalist", prompt: a.prompt } }),
    complete: (a) => ({ name: "complete_task", args: { result: a.result, response: a.result } }),
  }),
  delegation: {
    "P3 delegate": [{ tools: [{ name: "task", args: { prompt: "SUBTASK write a file" } }] }, { text: "main done" }, { text: "main done" }],
    "SUBTASK write": [{ tools: [{ name: "write", args: { path: "sub.txt", content: "from sub\n" } }] }, { tools: [{ name: "complete", args: { result: "sub done" } }] }],
  },
  prepare(sb, model) {
    put(path.join(sb.home, ".gemini/settings.json"), {
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
      general: { disableAutoUpdate: true, enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
    });
    Object.assign(sb.env, { GEMINI_API_KEY: "fake-key", GOOGLE_GEMINI_BASE_URL: model.origin, GEMINI_TELEMETRY_ENABLED: "false", GEMINI_CLI_TRUST_WORKSPACE: "true" });
  },
  install: async (sb) => [await cli(sb, "extensions", "install", "--consent", path.join(checkout, "extension/gemini"))],
  uninstall: async (sb) => [await cli(sb, "extensions", "uninstall", "rewind")],
  ask: (sb, prompt, again) => cli(sb, "-p", prompt, "--yolo", "-m", "gemini-2.5-flash", ...(again ? ["--resume", "latest"] : [])),
  commands: { list: "/rewind:list", restore: "/rewind:restore the state before P2", undo: "/rewind:undo" },
  own: (all) => Object.fromEntries(Object.entries(all).filter(([file]) => file.startsWith(".gemini/extensions/rewind"))),
  tells: true, // in headless runs too
};
