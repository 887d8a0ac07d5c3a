package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// a house with a program on PATH for each agent, and rewind.
func newExamined(t *testing.T) *house {
	h := newHouse(t)
	h.OnPath = func(string) bool { return true }
	return h
}

// wants examines an agent, and compares one thing that is found. A text that is wanted
// may be any part of it.
func (h *house) wants(agent string, last Last, what string, state State, text, mend string) {
	h.t.Helper()
	checks := h.Examine(agent, last)
	i := slices.IndexFunc(checks, func(c Check) bool { return c.What == what })
	if i < 0 {
		h.t.Errorf("%s: nothing is said of %s: %+v", agent, what, checks)
		return
	}
	if c := checks[i]; c.State != state || !strings.Contains(c.Text, text) || !strings.Contains(c.Mend, mend) {
		h.t.Errorf("%s: %+v, want %s, %q, %q", agent, c, state, text, mend)
	}
}

func TestAnAgentThatDoesNotCallRewindIsNoFault(t *testing.T) {
	h := newExamined(t)
	for _, name := range Names() {
		h.wants(name, Last{}, "hooks", Told, "does not call rewind", "rewind setup "+name)
	}
	h.put(".config/opencode/opencode.json", "{}")
	h.wants("opencode", Last{}, "hooks", Told, "does not call rewind", "rewind setup opencode")
	h.OnPath = func(string) bool { return false }
	h.wants("claude", Last{}, "program", Told, "no program claude", "")
}

func TestWhatSetupHasDoneIsFoundAndWhatBecameOfIt(t *testing.T) {
	h := newExamined(t)
	now := time.Now()
	for _, name := range Names() {
		h.apply(h.Plan, name)
		h.wants(name, Last{}, "hooks", Well, "set up to call rewind", "")
		h.wants(name, Last{}, "last hook", Told, "none has come yet", "")
		if name != "codex" {
			h.wants(name, Last{Time: now}, "last hook", Well, now.Format("2006-01-02"), "")
		}
		h.wants(name, Last{Time: now, Fail: "the disk is full"}, "last hook", ToDo, "failed: the disk is full", "")
	}
	h.Command = `"/elsewhere/rewind"` // the program was moved
	h.wants("claude", Last{}, "hooks", ToDo, "settings.json", "rewind setup claude")
	h.put(".claude/settings.json", "{")
	h.wants("claude", Last{}, "hooks", ToDo, "is not JSON", "rewind setup claude")
}

// installs makes what the agent's own command has made of a plugin.
func (h *house) installs(agent, version string) {
	h.t.Helper()
	manifest := fmt.Sprintf(`{"name":"rewind","version":%q}`, version)
	switch agent {
	case "claude":
		h.put(".claude/settings.json", `{"enabledPlugins":{"rewind@rewind":true}}`)
		h.put(".claude/plugins/cache/rewind/rewind/"+version+"/.claude-plugin/plugin.json", manifest)
	case "codex":
		h.put(".codex/config.toml", "[plugins.\"rewind@rewind\"]\nenabled = true\n")
		h.put(".codex/plugins/cache/rewind/rewind/"+version+"/.codex-plugin/plugin.json", manifest)
		hooks, err := os.ReadFile("../../../extension/codex/hooks/hooks.json")
		if err != nil {
			h.t.Fatal(err)
		}
		h.put(".codex/plugins/cache/rewind/rewind/"+version+"/hooks/hooks.json", string(hooks))
	case "copilot":
		h.put(".copilot/settings.json", fmt.Sprintf(`{"extraKnownMarketplaces":{"rewind":{"source":{"source":"directory","path":%q}}},"enabledPlugins":{"rewind@rewind":true}}`, filepath.Join(h.home, "market")))
		h.put("market/extension/copilot/.claude-plugin/plugin.json", manifest)
	default:
		h.put("."+agent+"/extensions/rewind/"+agent+"-extension.json", manifest)
	}
}

func TestAPluginOfAnotherVersionIsNamed(t *testing.T) {
	for _, name := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
		h := newExamined(t)
		a, err := h.agent(name)
		if err != nil {
			t.Fatal(err)
		}
		ours := h.version(a)
		if ours == "" {
			t.Fatalf("%s: the plugin that comes along has no version", name)
		}
		h.installs(name, "0.0.1")
		h.wants(name, Last{}, "plugin", ToDo, "is version 0.0.1, and this program brings "+ours, name)
		h.installs(name, ours)
		h.wants(name, Last{}, "plugin", Well, "version "+ours, "")
		h.OnPath = func(program string) bool { return program != "rewind" }
		h.wants(name, Last{}, "path", ToDo, "not on PATH", "REWIND_BINARY")
	}
}

func TestAPluginThatIsOffOrGoneIsNamed(t *testing.T) {
	h := newExamined(t)
	h.installs("claude", "0.1.0")
	h.put(".claude/settings.json", `{"enabledPlugins":{"rewind@rewind": false}}`)
	h.wants("claude", Last{}, "plugin", ToDo, "switched off", "claude")
	h.installs("codex", "0.1.0")
	h.put(".codex/config.toml", "[plugins.\"rewind@rewind\"]\nenabled = false\n")
	h.wants("codex", Last{}, "plugin", ToDo, "switched off", "codex")
	h.put(".copilot/settings.json", `{"enabledPlugins":{"rewind@rewind":true}}`)
	h.wants("copilot", Last{}, "plugin", Well, "of which version cannot be told", "")
	h.put(".claude/settings.json", `{"enabledPlugins":{"rewind@rewind":true}}`)
	h.put(".claude/plugins/cache/rewind/rewind/0.1.0/.claude-plugin/plugin.json", "{")
	h.wants("claude", Last{}, "plugin", ToDo, "its files are not there", "claude plugin")
}

// trusts writes into config.toml what Codex writes when somebody trusts hooks there.
func (h *house) trusts(source string, events ...string) {
	h.t.Helper()
	text := "model = \"x\"\n[plugins.\"rewind@rewind\"]\nenabled = true\n"
	for _, event := range events {
		text += fmt.Sprintf("\n[hooks.state.%q]\ntrusted_hash = \"sha256:00\"\n", source+":"+event+":0:0")
	}
	h.put(".codex/config.toml", text)
}

func TestHooksOfCodexThatNobodyTrustedAreSeen(t *testing.T) {
	all := []string{"user_prompt_submit", "pre_tool_use", "post_tool_use", "stop", "interrupt", "pre_compact", "post_compact"}
	h := newExamined(t)
	h.apply(h.Plan, "codex")
	h.wants("codex", Last{}, "trust", ToDo, "Interrupt, PostCompact, PostToolUse, PreCompact, PreToolUse, Stop, UserPromptSubmit", "/hooks")
	h.put(".codex/config.toml", fmt.Sprintf("[hooks.state]\n%q = { enabled = true, trusted_hash = 'sha256:1' }\n", filepath.Join(h.home, ".codex/hooks.json")+":stop:0:0"))
	h.wants("codex", Last{}, "trust", ToDo, "PreToolUse, UserPromptSubmit", "/hooks")
	file := filepath.Join(h.home, ".codex/hooks.json")
	text := ""
	for _, event := range all {
		text += fmt.Sprintf("[hooks.state.%q]\ntrusted_hash = \"sha256:00\"\n", file+":"+event+":0:0")
	}
	h.put(".codex/config.toml", text)
	h.wants("codex", Last{}, "trust", Well, "trusted", "")
	h.put(".codex/config.toml", strings.Replace(text, "trusted_hash", "enabled = false\ntrusted_hash", 1))
	h.wants("codex", Last{}, "trust", ToDo, "switched off: UserPromptSubmit", "/hooks")

	plugin := newExamined(t)
	plugin.installs("codex", "0.1.0")
	plugin.wants("codex", Last{}, "trust", ToDo, "SessionStart", "/hooks")
	plugin.trusts("rewind@rewind:hooks/hooks.json", append(all, "session_start")...)
	plugin.wants("codex", Last{}, "trust", Well, "trusted", "")
	plugin.trusts("rewind@rewind:hooks/hooks.json", all...)
	plugin.wants("codex", Last{}, "trust", ToDo, "SessionStart", "/hooks")
}

func TestAHookThatMovedInItsListIsNotTheOneThatWasTrusted(t *testing.T) {
	h := newExamined(t)
	h.put(".codex/hooks.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"other"}]}]}}`)
	h.apply(h.Plan, "codex")
	codex, err := h.agent("codex")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := h.hookKeys(codex, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(keys, func(k hookKey) bool { return k.event == "Stop" })
	var list struct{ Hooks map[string][]any }
	if err := json.Unmarshal([]byte(h.read(".codex/hooks.json")), &list); err != nil || len(list.Hooks["Stop"]) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if !strings.HasSuffix(keys[i].keys[0], ":stop:1:0") {
		t.Errorf("the key is %s", keys[i].keys)
	}
}

func TestThatCodexWorkedAndNoHookCameIsSeen(t *testing.T) {
	h := newExamined(t)
	h.apply(h.Plan, "codex")
	file := filepath.Join(h.home, ".codex/hooks.json")
	text := ""
	for _, event := range []string{"user_prompt_submit", "pre_tool_use", "post_tool_use", "stop", "interrupt", "pre_compact", "post_compact"} {
		text += fmt.Sprintf("[hooks.state.%q]\ntrusted_hash = \"sha256:00\"\n", file+":"+event+":0:0")
	}
	h.put(".codex/config.toml", text)
	h.put(".codex/sessions/2026/01/02/rollout-x.jsonl", "{}\n")
	session := filepath.Join(h.home, ".codex/sessions/2026/01/02/rollout-x.jsonl")
	now := time.Now()
	for _, c := range []struct {
		worked, hook time.Time
		state        State
	}{
		{now.Add(time.Hour), now, ToDo}, {now.Add(time.Hour), now.Add(time.Hour), Well}, {now.Add(-time.Hour), time.Time{}, Told},
	} {
		if err := os.Chtimes(session, c.worked, c.worked); err != nil {
			t.Fatal(err)
		}
		want := map[State]string{ToDo: "no hook of it came since", Well: "it came at", Told: "none has come yet"}[c.state]
		h.wants("codex", Last{Time: c.hook}, "last hook", c.state, want, "")
	}
}
