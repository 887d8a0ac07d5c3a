// Claude Code, headless, with the plugin from the marketplace of this repository.
import path from "node:path";
import { checkout, program, put, run } from "./host.mjs";

const cli = (sb, ...args) => run([program("claude"), ...args], { cwd: sb.repo, env: { ...sb.env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" } });

export const claude = {
  name: "claude", package: "@anthropic-ai/claude-code", version: "2.1.330",
  tools: (repo) => ({
    write: (a) => ({ name: "Write", args: { file_path: path.join(repo, a.path), content: a.content } }),
    bash: (a) => ({ name: "Bash", args: { command: a.command, description: "run it" } }),
    mcp: (a) => ({ name: `mcp__rewind__${a.tool}`, args: a.input }),
    task: (a) => ({ name: "Agent", args: { description: "sub work", prompt: a.prompt, subagent_type: "general-purpose", run_in_background: false } }),
  }),
  prepare(sb, model) {
    put(path.join(sb.home, ".claude/settings.json"), { permissions: { allow: ["Bash", "Write", "Edit", "Read", "Agent", "Skill", "mcp__rewind"] } });
    put(path.join(sb.home, ".claude.json"), { hasCompletedOnboarding: true, theme: "dark", autoUpdates: false, customApiKeyResponses: { approved: ["fake-key"], rejected: [] }, projects: { [sb.repo]: { hasTrustDialogAccepted: true } } });
    Object.assign(sb.env, { ANTHROPIC_BASE_URL: model.origin, ANTHROPIC_API_KEY: "fake-key", ANTHROPIC_MODEL: "claude-sonnet-4-5", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1" });
  },
  install: async (sb) => [await cli(sb, "plugin", "validate", "--strict", path.join(checkout, "extension/claude-code")), await cli(sb, "plugin", "marketplace", "add", checkout), await cli(sb, "plugin", "install", "rewind@rewind")],
  uninstall: async (sb) => [await cli(sb, "plugin", "uninstall", "rewind@rewind"), await cli(sb, "plugin", "marketplace", "remove", "rewind")],
  ask: (sb, prompt, again) => run([program("claude"), "-p", prompt, "--output-format", "text", "--permission-mode", "acceptEdits", ...(again ? ["--continue"] : [])], { cwd: sb.repo, env: sb.env }),
  mcp: {
    add: async (sb) => [await cli(sb, "mcp", "add", "--scope", "user", "rewind", "--", "rewind", "mcp", "--allow-restore")],
    remove: async (sb) => [await cli(sb, "mcp", "remove", "--scope", "user", "rewind")],
  },
  commands: { list: "/rewind:list", restore: "/rewind:restore the state before P2", undo: "/rewind:undo" },
};
