// Codex CLI, headless, with the plugin from the marketplace of this repository. exec
// skips hooks that nobody trusted, without a word: here they are trusted by a flag.
import path from "node:path";
import { checkout, program, put, run } from "./host.mjs";

const cli = (sb, ...args) => run([program("codex"), ...args], { cwd: sb.repo, env: sb.env });
const patch = (body) => ({ name: "apply_patch", custom: `*** Begin Patch\n${body}\n*** End Patch\n`, args: {} });

export const codex = {
  name: "codex", package: "@openai/codex", version: "0.169.0",
  tools: () => ({
    write: (a) => patch(`*** Add File: ${a.path}\n${a.content.replace(/\n$/, "").split("\n").map((l) => `+${l}`).join("\n")}`),
    bash: (a) => ({ name: "exec_command", args: { cmd: a.command } }),
    mcp: (a) => ({ name: a.tool, namespace: "mcp__rewind", args: a.input }),
    task: (a) => ({ name: "spawn_agent", namespace: "multi_agent_v1", args: { message: a.prompt } }),
    wait: () => ({ name: "wait_agent", namespace: "multi_agent_v1", args: (body) => ({ targets: [/agent_id\W+([0-9a-f-]{20,})/.exec(JSON.stringify(body.input))?.[1]], timeout_ms: 30000 }) }),
  }),
  delegation: {
    "P3 delegate": [{ tools: [{ name: "task", args: { prompt: "SUBTASK write a file" } }] }, { tools: [{ name: "wait" }] }, { text: "main done" }, { text: "main done" }],
    "SUBTASK write": [{ tools: [{ name: "write", args: { path: "sub.txt", content: "from sub\n" } }] }, { text: "sub done" }],
  },
  prepare(sb, model) {
    const home = path.join(sb.home, ".codex");
    put(path.join(home, "config.toml"), `model = "gpt-5.5"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "${model.origin}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
[analytics]
enabled = false
[feedback]
enabled = false
[projects."${sb.repo}"]
trust_level = "trusted"
`);
    Object.assign(sb.env, { CODEX_HOME: home, FAKE_KEY: "fake-key" });
  },
  install: async (sb) => [await cli(sb, "plugin", "marketplace", "add", checkout), await cli(sb, "plugin", "add", "rewind@rewind")],
  uninstall: async (sb) => [await cli(sb, "plugin", "remove", "rewind@rewind"), await cli(sb, "plugin", "marketplace", "remove", "rewind")],
  ask: (sb, prompt, again) => run([program("codex"), "exec", ...(again ? ["resume", "--last"] : []), "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt], { cwd: sb.repo, env: sb.env }),
  mcp: {
    add: async (sb) => [await cli(sb, "mcp", "add", "rewind", "--", "rewind", "mcp", "--allow-restore")],
    remove: async (sb) => [await cli(sb, "mcp", "remove", "rewind")],
  },
  commands: { list: "$rewind:list", restore: "$rewind:restore the state before P2", undo: "$rewind:undo" },
  lists: true,
};
