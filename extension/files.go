// Package extension has the files that make agents call rewind: what a user installs
// as a plugin or extension, and what "rewind setup" puts into an agent's own folders.
package extension

import "embed"

// Files are the folders of the agents, without their tests.
//
//go:embed claude-code codex copilot gemini goose/plugin.json opencode qwen
//go:embed claude-code/.claude-plugin codex/.codex-plugin copilot/.claude-plugin
var Files embed.FS
