package setup

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/extension"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// A house is a home with folders of agents.
type house struct {
	*Setup
	t    *testing.T
	home string
}

func newHouse(t *testing.T) *house {
	home := t.TempDir()
	env := map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state")}
	return &house{&Setup{Getenv: func(name string) string { return env[name] }, Files: extension.Files, Command: "rewind"}, t, home}
}

func (h *house) put(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.home, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// all is everything in the home but what rewind writes down: path → content.
func (h *house) all() map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(h.home, path)
		if rel == "state" {
			return fs.SkipDir
		}
		text, _ := os.ReadFile(path)
		out[rel] = string(text)
		return err
	})
	return out
}

func (h *house) apply(find func(string) (*Plan, error), name string) *Plan {
	h.t.Helper()
	p, err := find(name)
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// settings are ways in which people and programs write a configuration.
var settings = map[string]string{
	"none":         "",
	"empty":        "{}",
	"a line":       `{"model":"opus","permissions":{"allow":["Bash"]}}`,
	"indented":     "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\"Bash\"]\n  }\n}\n",
	"tabs":         "{\n\t\"a\": 1\n}",
	"other hooks":  "{\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n        ],\n        \"Other\": []\n    },\n    \"z\": null\n}\n",
	"empty hooks":  "{\"hooks\": {}}\r\n",
	"empty list":   "{ \"hooks\" : { \"Stop\" : [ ] } , \"x\":\"{[\" }",
	"odd blanks":   "\n\n {\n\n \"a\"  :  [1 ,2]\n\n}\n\n",
	"escaped keys": `{"hoo\u006bs":{"Stop":[]},"\"":"\\"}`,
}

func TestWhatIsSetUpIsTakenBackToTheByte(t *testing.T) {
	for _, a := range agents() {
		for name, text := range settings {
			h := newHouse(t)
			dir, _ := filepath.Rel(h.home, a.dir(h.Getenv))
			h.put(filepath.Join(dir, "other"), "of the user's\n")
			if text != "" && a.hooks != "" {
				h.put(filepath.Join(dir, a.hooks), text)
			}
			before := h.all()
			if p := h.apply(h.Plan, a.name); len(p.Changes) == 0 {
				t.Fatalf("%s, %s: nothing was set up", a.name, name)
			}
			if a.hooks != "" {
				h.wantHooks(&a, filepath.Join(dir, a.hooks), text)
			}
			between := h.all()
			if p := h.apply(h.Plan, a.name); len(p.Changes) != 0 || !reflect.DeepEqual(h.all(), between) {
				t.Errorf("%s, %s: the second time changed %v", a.name, name, p.Changes)
			}
			h.apply(h.PlanRemoval, a.name)
			if after := h.all(); !reflect.DeepEqual(after, before) {
				t.Errorf("%s, %s: left %q, it was %q", a.name, name, after, before)
			}
			if p := h.apply(h.PlanRemoval, a.name); len(p.Changes) != 0 {
				t.Errorf("%s, %s: the second removal changed %v", a.name, name, p.Changes)
			}
		}
	}
}

// wantHooks holds that a file has every hook once, and all that it had before.
func (h *house) wantHooks(a *agent, file, before string) {
	h.t.Helper()
	var now, was map[string]any
	if err := json.Unmarshal([]byte(h.read(file)), &now); err != nil {
		h.t.Fatalf("%s: %v: %s", a.name, err, h.read(file))
	}
	_ = json.Unmarshal([]byte(before), &was)
	if !a.upToDate([]byte(h.read(file)), h.Command) {
		h.t.Errorf("%s: not every hook is there once: %s", a.name, h.read(file))
	}
	for key, value := range was {
		if key != "hooks" && !reflect.DeepEqual(now[key], value) {
			h.t.Errorf("%s: %s was %v and is %v", a.name, key, value, now[key])
		}
	}
	if strings.Contains(before, "say done") && !strings.Contains(h.read(file), "say done") {
		h.t.Errorf("%s: another hook is gone: %s", a.name, h.read(file))
	}
}

func TestOfAFileThatWasChangedSinceOnlyOursIsCut(t *testing.T) {
	for name, text := range settings {
		h := newHouse(t)
		h.put(".claude/settings.json", text)
		h.apply(h.Plan, "claude")
		edited := strings.Replace(h.read(".claude/settings.json"), "{", "{\n  \"theme\": \"dark\",", 1)
		h.put(".claude/settings.json", edited)
		h.put(".claude/commands/rewind/list.md", "my own words\n")
		p := h.apply(h.PlanRemoval, "claude")
		var now, want map[string]any
		if err := json.Unmarshal([]byte(h.read(".claude/settings.json")), &now); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = json.Unmarshal([]byte(text), &want)
		if want == nil {
			want = map[string]any{}
		}
		want["theme"] = "dark"
		for _, m := range []map[string]any{now, want} { // lists that are empty may go
			if hooks, _ := m["hooks"].(map[string]any); hooks != nil {
				for event, list := range hooks {
					if len(list.([]any)) == 0 {
						delete(hooks, event)
					}
				}
				if len(hooks) == 0 {
					delete(m, "hooks")
				}
			}
		}
		if !reflect.DeepEqual(now, want) {
			t.Errorf("%s: left %v, want %v", name, now, want)
		}
		if h.read(".claude/commands/rewind/list.md") != "my own words\n" || len(p.Notes) != 1 {
			t.Errorf("%s: a file that the user wrote: %v", name, p.Notes)
		}
	}
}

func TestWhatCannotBeParsedIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"comments": "{\n  // my settings\n  \"a\": 1\n}", "cut": `{"a":`, "two": "{} {}", "a list": "[]", "hooks of another form": `{"hooks":[]}`,
		"an event of another form": `{"hooks":{"Stop":{}}}`, "the same key twice": `{"hooks":{},"hooks":{"Stop":[]}}`, "a comma too many": `{"a":1,}`,
	} {
		h := newHouse(t)
		h.put(".claude/settings.json", text)
		before := h.all()
		if _, err := h.Plan("claude"); err == nil || !strings.Contains(err.Error(), "left alone") {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(h.all(), before) {
			t.Errorf("%s: something was changed", name)
		}
	}
}

func TestAFileOfTheUsersIsNotOverwritten(t *testing.T) {
	h := newHouse(t)
	h.put(".config/opencode/plugins/rewind.js", "mine")
	if _, err := h.Plan("opencode"); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("%v", err)
	}
}

func TestAPluginThatIsInstalledIsEnough(t *testing.T) {
	h := newHouse(t)
	h.put(".claude/settings.json", `{"enabledPlugins":{"rewind@rewind":true}}`)
	if p := h.apply(h.Plan, "claude"); len(p.Changes) != 0 || len(p.Notes) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestALinkedConfigurationIsChangedWhereItLies(t *testing.T) {
	gittest.Links(t)
	h := newHouse(t)
	h.put("dotfiles/settings.json", "{}\n")
	h.put(".claude/other", "")
	link := filepath.Join(h.home, ".claude/settings.json")
	if err := os.Symlink("../dotfiles/settings.json", link); err != nil {
		t.Skipf("SKIPPED: no links here: %v", err)
	}
	h.apply(h.Plan, "claude")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || !strings.Contains(h.read("dotfiles/settings.json"), "rewind hook claude Stop") {
		t.Errorf("%v, %v: %s", info, err, h.read("dotfiles/settings.json"))
	}
	if info, err := os.Stat(link); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	h.apply(h.PlanRemoval, "claude")
	if h.read("dotfiles/settings.json") != "{}\n" {
		t.Errorf("left %q", h.read("dotfiles/settings.json"))
	}
}

func TestAFileThatChangedAfterItWasShownStopsEverything(t *testing.T) {
	h := newHouse(t)
	h.put(".claude/settings.json", "{}")
	p, err := h.Plan("claude")
	if err != nil {
		t.Fatal(err)
	}
	h.put(".claude/settings.json", `{"a":1}`)
	before := h.all()
	if err := p.Apply(); err == nil || !reflect.DeepEqual(h.all(), before) {
		t.Errorf("%v", err)
	}
}

func TestANewVersionReplacesWhatTheOldOneSetUp(t *testing.T) {
	h := newHouse(t)
	h.put(".claude/settings.json", "{\"a\":1}")
	before := h.all()
	h.apply(h.Plan, "claude")
	h.Command = "/elsewhere/rewind"
	if p := h.apply(h.Plan, "claude"); len(p.Changes) != 1 {
		t.Errorf("%v", p.Changes)
	}
	if text := h.read(".claude/settings.json"); strings.Contains(text, `"rewind hook`) || !strings.Contains(text, "/elsewhere/rewind hook claude Stop") {
		t.Errorf("%s", text)
	}
	h.apply(h.PlanRemoval, "claude")
	if !reflect.DeepEqual(h.all(), before) {
		t.Errorf("left %v", h.all())
	}
}

func TestOnlyAgentsThatAreHereAreFound(t *testing.T) {
	h := newHouse(t)
	h.OnPath = func(program string) bool { return program == "codex" }
	h.put(".gemini/settings.json", "{}")
	if got := h.Found(); !slices.Equal(got, []string{"codex", "gemini"}) {
		t.Errorf("%v", got)
	}
}

// Whatever JSON is given: what is inserted can be cut again, and nothing else goes.
func FuzzInsert(f *testing.F) {
	for _, text := range settings {
		f.Add(text)
	}
	a := &agents()[0]
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || strings.Contains(text, "rewind") {
			return
		}
		with, err := insert([]byte(text), []string{"hooks", "Stop"}, a.hook("Stop", "rewind"))
		if err != nil {
			return
		}
		if !json.Valid(with) {
			t.Fatalf("%q became %q", text, with)
		}
		rest, err := without(with, a.isOurs)
		if err != nil {
			t.Fatal(err)
		}
		var was, now map[string]any
		if json.Unmarshal([]byte(text), &was) != nil || json.Unmarshal(rest, &now) != nil {
			t.Fatalf("%q, %q", text, rest)
		}
		delete(was, "hooks")
		delete(now, "hooks")
		if x, _ := json.Marshal(was); true {
			if y, _ := json.Marshal(now); !bytes.Equal(x, y) {
				t.Errorf("%q became %q", text, rest)
			}
		}
	})
}

func TestNoCommaIsLeftBeforeAnEnd(t *testing.T) {
	ours := func(element []byte) bool { return bytes.Contains(element, []byte("ours")) }
	for text, want := range map[string]string{
		`{"a": 1 , "hooks": {"Stop": ["ours"]}}`:                  `{"a": 1}`,
		`{"hooks": {"Stop": ["his" , "ours"]}}`:                   `{"hooks": {"Stop": ["his"]}}`,
		`{"hooks": {"Stop": ["his"] , "Start": ["ours"]}, "a":1}`: `{"hooks": {"Stop": ["his"]}, "a":1}`,
		`{"hooks": {"Stop": ["his" , "more" ,"ours" ] } }`:        `{"hooks": {"Stop": ["his" , "more" ] } }`,
	} {
		got, err := without([]byte(text), ours)
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s became %s, %v, want %s", text, got, err, want)
		}
	}
}
