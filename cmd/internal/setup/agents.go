package setup

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// An agent is one that rewind can be set up for.
type agent struct {
	name    string
	program string   // its name on PATH
	home    []string // environment variable that names its folder, and the folder below the user's home
	known   []string // likewise for the folder that tells that it is here, where that is another one; then its program does not tell

	folder  string            // of ours, in the package extension
	copies  map[string]string // from there → below its folder; a folder means all below it
	hooks   string            // the file below its folder that takes hooks, "" for none
	base    string            // what that file begins with if it is not there
	scripts string            // the folder below its folder that takes a script for each event, "" for none
	timeout int               // of a hook, in the unit of the agent
	events  map[string]string // event → matcher of tools
	trust   string            // what the user has to do beside
	plugin  string            // the file that says so if the plugin is installed
}

const writes = "Write|Edit|MultiEdit|NotebookEdit|Bash|PowerShell"

// agents are made when they are needed: whatever a program makes beforehand, each start of
// it takes longer.
var agents = sync.OnceValue(func() []agent {
	list := []agent{
		{
			name: "claude", program: "claude", home: []string{"CLAUDE_CONFIG_DIR", ".claude"}, folder: "claude-code",
			copies: map[string]string{"commands": "commands/rewind", "skills/rewind": "skills/rewind"},
			hooks:  "settings.json", timeout: 30, plugin: "settings.json",
			events: map[string]string{"UserPromptSubmit": "", "PreToolUse": writes, "PostToolUse": writes, "Stop": "", "StopFailure": "", "PreCompact": "", "PostCompact": ""},
		},
		{
			name: "cline", program: "cline", home: []string{"CLINE_DIR", ".cline"}, scripts: "hooks",
			events: map[string]string{"TaskStart": "", "TaskResume": "", "PreToolUse": "", "TaskComplete": "", "TaskCancel": "", "TaskError": ""},
		},
		{
			name: "codex", program: "codex", home: []string{"CODEX_HOME", ".codex"}, folder: "codex",
			copies: map[string]string{"skills/rewind": "skills/rewind", "skills/list": "skills/rewind-list", "skills/restore": "skills/rewind-restore", "skills/undo": "skills/rewind-undo"},
			hooks:  "hooks.json", timeout: 30, plugin: "config.toml", trust: "start codex, type /hooks and trust the hooks of rewind: until then it skips them without a word",
			events: map[string]string{"UserPromptSubmit": "", "PreToolUse": "", "PostToolUse": "", "Stop": "", "Interrupt": "", "PreCompact": "", "PostCompact": ""},
		},
		{
			name: "copilot", program: "copilot", home: []string{"COPILOT_HOME", ".copilot"}, folder: "copilot",
			copies: map[string]string{"skills": "skills"}, hooks: "hooks/rewind.json", base: "{\n  \"version\": 1\n}\n", timeout: 25, plugin: "settings.json",
			events: map[string]string{"userPromptSubmitted": "", "preToolUse": "", "postToolUse": "", "agentStop": "", "preCompact": ""},
		},
		{
			// What it says of its directory was read in its documentation, which has no
			// unit of a timeout that all of it agrees on.
			name: "cursor", program: "cursor", home: []string{"", ".cursor"},
			hooks: "hooks.json", base: "{\n  \"version\": 1\n}\n",
			events: map[string]string{"beforeSubmitPrompt": "", "stop": ""},
		},
		{
			name: "gemini", program: "gemini", home: []string{"", ".gemini"}, folder: "gemini",
			copies: map[string]string{".": "extensions/rewind"},
		},
		{
			// Another program has its name.
			name: "goose", program: "goose", home: []string{"", ".agents/plugins/rewind"}, known: []string{"", ".config/goose"}, folder: "goose",
			copies: map[string]string{"plugin.json": "plugin.json"}, hooks: "hooks/hooks.json", timeout: 30,
			events: map[string]string{"UserPromptSubmit": "", "PreToolUse": "", "Stop": ""},
		},
		{
			name: "opencode", program: "opencode", home: []string{"OPENCODE_CONFIG_DIR", ".config/opencode"}, folder: "opencode",
			copies: map[string]string{"plugins": "plugins", "commands": "commands"},
		},
		{
			name: "qwen", program: "qwen", home: []string{"", ".qwen"}, folder: "qwen",
			copies: map[string]string{".": "extensions/rewind"},
		},
	}
	if runtime.GOOS == "windows" { // where scripts are of another kind, which nobody has seen running
		list = slices.DeleteFunc(list, func(a agent) bool { return a.scripts != "" })
	}
	return list
})

// Names lists the agents.
func Names() (names []string) {
	for _, a := range agents() {
		names = append(names, a.name)
	}
	return names
}

// dir is the agent's own folder.
func (a *agent) dir(getenv func(string) string) string { return folder(a.home, getenv) }

// folder is where an environment variable says, or else below the user's home.
func folder(at []string, getenv func(string) string) string {
	if at[0] != "" && filepath.IsAbs(getenv(at[0])) {
		return getenv(at[0])
	}
	if config := getenv("XDG_CONFIG_HOME"); strings.HasPrefix(at[1], ".config/") && filepath.IsAbs(config) {
		return filepath.Join(config, strings.TrimPrefix(at[1], ".config/"))
	}
	return filepath.Join(homeOf(getenv), filepath.FromSlash(at[1]))
}

// homeOf is the user's home, "" where nothing says where it is.
func homeOf(getenv func(string) string) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := getenv(name); filepath.IsAbs(home) {
			return home
		}
	}
	return ""
}

// ownFiles returns what is ours as a whole in the agent's folder: path there → content.
func (a *agent) ownFiles(files fs.FS, command string) (map[string][]byte, error) {
	out := map[string][]byte{}
	if a.scripts != "" {
		for event := range a.events {
			out[path.Join(a.scripts, event)] = []byte("#!/bin/sh\nexec " + command + " hook " + a.name + " " + event + "\n")
		}
	}
	for from, to := range a.copies {
		from = path.Join(a.folder, from)
		err := fs.WalkDir(files, from, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Base(name) == "README.md" {
				return err
			}
			text, err := fs.ReadFile(files, name)
			out[path.Join(to, strings.TrimPrefix(strings.TrimPrefix(name, from), "/"))] = text
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// hook is the element that is put into the list of one event's hooks. It never fails,
// also where the program is gone.
func (a *agent) hook(event, command string) any {
	command += " hook " + a.name + " " + event
	if a.name == "copilot" { // in its own style
		return map[string]any{"type": "command", "bash": command + " || true", "powershell": command + "; exit 0", "timeoutSec": a.timeout}
	}
	if a.name == "cursor" { // a program that is gone does not stop it
		return map[string]any{"command": command}
	}
	e := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command + " || true", "timeout": a.timeout}}}
	if matcher := a.events[event]; matcher != "" {
		e["matcher"] = matcher
	}
	return e
}

// isOurs reports whether an element of a list of hooks is one that we made.
func (a *agent) isOurs(element []byte) bool {
	return strings.Contains(string(element), " hook "+a.name+" ") && strings.Contains(string(element), "rewind")
}

// isCalled reports whether hooks of which none is ours call rewind all the same: somebody
// has written that there by hand.
func (a *agent) isCalled(text []byte) bool {
	var file struct {
		Hooks json.RawMessage `json:"hooks"`
	}
	_ = json.Unmarshal(text, &file) // what cannot be read was left alone before
	return bytes.Contains(file.Hooks, []byte("rewind hook "+a.name)) || bytes.Contains(file.Hooks, []byte(`rewind\" hook `+a.name))
}

// upToDate reports whether a file has each of our hooks once, and no other of ours.
func (a *agent) upToDate(text []byte, command string) bool {
	var file struct {
		Hooks map[string][]json.RawMessage `json:"hooks"`
	}
	if json.Unmarshal(text, &file) != nil {
		return false
	}
	seen := 0
	for event, list := range file.Hooks {
		want, _ := json.Marshal(a.hook(event, command))
		for _, element := range list {
			if !a.isOurs(element) {
				continue
			}
			var there any
			if json.Unmarshal(element, &there) != nil {
				return false
			}
			if now, _ := json.Marshal(there); !bytes.Equal(now, want) {
				return false
			}
			seen++
		}
	}
	return seen == len(a.events)
}
