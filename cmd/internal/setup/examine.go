package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A State says what is to be made of what was found.
type State string

// The states.
const (
	Well State = "ok"
	ToDo State = "todo" // something is wrong, and can be mended
	Told State = "note" // worth knowing; nothing is wrong
)

// A Check is one thing that was looked at.
type Check struct {
	What  string `json:"what"`           // in a word or two
	State State  `json:"state"`          // "ok", "todo" or "note"
	Text  string `json:"text"`           // a sentence
	Mend  string `json:"mend,omitempty"` // the command, or what else mends it
}

// A Last is the last hook of an agent that came.
type Last struct {
	Time time.Time // zero: none is known
	Fail string    // why nothing was recorded; "": it was
}

// Examine looks at one agent: whether it calls rewind, and whether that comes to
// anything. It changes nothing and starts no program.
func (s *Setup) Examine(name string, last Last) []Check {
	a, err := s.agent(name)
	if err != nil {
		return []Check{{What: name, State: ToDo, Text: err.Error()}}
	}
	var out []Check
	if !s.OnPath(a.program) {
		out = append(out, Check{"program", Told, "its folder is here, but there is no program " + a.program + " on PATH", ""})
	}
	found := s.installed(a)
	calls := found != nil
	if calls {
		out = append(out, s.examinePlugin(a, found)...)
	} else {
		var c Check
		c, calls = s.examineSetup(a)
		out = append(out, c)
	}
	if !calls {
		return out
	}
	trusted := true
	if name == "codex" {
		var c Check
		c, trusted = s.examineTrust(a, found)
		out = append(out, c)
	}
	at := ""
	if found != nil {
		at = found.dir
	}
	return append(out, s.examineLast(a, at, last, trusted))
}

// Calls reports whether an agent calls rewind, as far as its files tell: by what setup has
// put there, or by a plugin that it has of its own.
func (s *Setup) Calls(name string) bool {
	a, err := s.agent(name)
	if err != nil {
		return false
	}
	if p := s.installed(a); p != nil {
		return !p.off && (p.version != "" || name == "copilot")
	}
	_, calls := s.examineSetup(a)
	return calls
}

// A plugin is what an agent's own command has installed of us.
type plugin struct {
	dir     string
	version string
	off     bool // the user has switched it off
}

// manifests are where agents keep what they have installed, below their folder.
// Copilot CLI reads a plugin where its marketplace lies, if that is a folder; where it
// keeps another one was not seen.
var manifests = map[string]string{
	"claude": "plugins/cache/rewind/rewind/*/.claude-plugin/plugin.json",
	"codex":  "plugins/cache/rewind/rewind/*/.codex-plugin/plugin.json",
	"gemini": "extensions/rewind/gemini-extension.json",
	"qwen":   "extensions/rewind/qwen-extension.json",
}

// manifestOf returns the manifests of a plugin that an agent may have installed.
func manifestOf(a *agent, dir string, settings []byte) (files []string) {
	if a.name != "copilot" {
		if manifests[a.name] == "" {
			return nil
		}
		files, _ = filepath.Glob(filepath.Join(dir, filepath.FromSlash(manifests[a.name])))
		return files
	}
	var known struct {
		Markets map[string]struct{ Source struct{ Path string } } `json:"extraKnownMarketplaces"`
	}
	_ = json.Unmarshal(settings, &known) // of what cannot be read nothing is known
	if market := known.Markets["rewind"].Source.Path; filepath.IsAbs(market) {
		files = append(files, filepath.Join(market, "extension", "copilot", ".claude-plugin", "plugin.json"))
	}
	return files
}

// installed returns the plugin or extension that an agent has, nil if it has none of
// its own: what setup has put there is none.
func (s *Setup) installed(a *agent) *plugin {
	dir := a.dir(s.Getenv)
	var settings []byte
	if a.plugin != "" {
		settings, _ = os.ReadFile(filepath.Join(dir, a.plugin))
		if !bytes.Contains(settings, []byte(pluginName)) {
			return nil
		}
	}
	files := manifestOf(a, dir, settings)
	if a.plugin == "" && len(files) == 0 {
		return nil
	}
	if old, err := readReceipt(s.receiptFile(a.name)); a.plugin == "" && err == nil && len(old.Files) > 0 {
		return nil
	}
	p := &plugin{off: switchedOff().Match(settings)}
	for _, file := range files { // of several versions the newest
		text, err := os.ReadFile(file)
		var m struct{ Version string }
		if err == nil && json.Unmarshal(text, &m) == nil && m.Version != "" {
			p.dir, p.version = filepath.Dir(file), m.Version
			if m.Version == s.version(a) {
				break
			}
		}
	}
	if a.plugin != "" {
		p.dir = filepath.Dir(p.dir)
	}
	return p
}

// pluginName is what agents call the plugin: by its name and its marketplace's.
const pluginName = "rewind@rewind"

// switchedOff finds the plugin where it is off: in the JSON of Claude Code and
// Copilot CLI, or in the TOML of Codex.
var switchedOff = pattern(`"rewind@rewind"\s*:\s*false|\[plugins\."rewind@rewind"\]\s*enabled\s*=\s*false`)

// version is the one of the plugin that this program brings along.
func (s *Setup) version(a *agent) string {
	for _, dir := range []string{".claude-plugin", ".codex-plugin"} {
		if v := versionIn(s.Files, path.Join(a.folder, dir, "plugin.json")); v != "" {
			return v
		}
	}
	return versionIn(s.Files, path.Join(a.folder, a.name+"-extension.json"))
}

func versionIn(files fs.FS, name string) string {
	text, err := fs.ReadFile(files, name)
	var m struct{ Version string }
	if err != nil || json.Unmarshal(text, &m) != nil {
		return ""
	}
	return m.Version
}

// updates are the commands that bring another version of the plugin.
var updates = map[string]string{
	"claude":  "claude plugin marketplace update rewind && claude plugin update rewind@rewind",
	"codex":   "codex plugin marketplace upgrade rewind && codex plugin add rewind@rewind",
	"copilot": "copilot plugin update rewind@rewind",
	"gemini":  "gemini extensions update rewind",
	"qwen":    "qwen extensions update rewind",
}

func (s *Setup) examinePlugin(a *agent, p *plugin) (out []Check) {
	ours := s.version(a)
	switch {
	case p.off:
		out = append(out, Check{"plugin", ToDo, "its plugin of rewind is installed, and switched off", "switch it on in " + a.program + " (/plugin)"})
	case p.version == "" && a.name == "copilot":
		out = append(out, Check{"plugin", Well, "its plugin of rewind is installed; of which version cannot be told", ""})
	case p.version == "":
		out = append(out, Check{"plugin", ToDo, "its settings name the plugin of rewind, but its files are not there", updates[a.name]})
	case p.version != ours:
		out = append(out, Check{"plugin", ToDo, fmt.Sprintf("its plugin of rewind is version %s, and this program brings %s", p.version, ours), updates[a.name]})
	default:
		out = append(out, Check{"plugin", Well, "its plugin of rewind is installed, version " + p.version, ""})
	}
	if !s.OnPath("rewind") && s.Getenv("REWIND_BINARY") == "" {
		out = append(out, Check{"path", ToDo, "the plugin calls rewind, which is not on PATH", "put the program on PATH, or name it in REWIND_BINARY"})
	}
	return out
}

// examineSetup looks at what setup has put into the agent's folder; false: nothing.
func (s *Setup) examineSetup(a *agent) (Check, bool) {
	again := "rewind setup " + a.name
	p, err := s.Plan(a.name)
	if err != nil {
		return Check{"hooks", ToDo, err.Error(), again + ", when that is mended"}, true
	}
	old, err := readReceipt(p.file)
	if err != nil {
		return Check{"hooks", ToDo, err.Error(), again}, true
	}
	switch {
	case len(p.Changes) == 0:
		return Check{"hooks", Well, "it is set up to call rewind", ""}, true
	case len(old.Files) > 0:
		return Check{"hooks", ToDo, "what rewind setup has put there was changed since, or is of another version: " + p.Changes[0].Path, again}, true
	}
	return Check{"hooks", Told, "it does not call rewind", again}, false
}

// soon is how long a hook may come after what it is of.
const soon = 2 * time.Minute

// examineLast looks whether hooks come; at is where they were installed, "" by setup.
func (s *Setup) examineLast(a *agent, at string, last Last, trusted bool) Check {
	worked, since := s.worked(a), last.Time
	if info, err := os.Stat(cmp.Or(at, filepath.Join(a.dir(s.Getenv), filepath.FromSlash(a.hooks)))); err == nil && info.ModTime().After(since) {
		since = info.ModTime() // before it was set up no hook could come
	}
	switch {
	case last.Fail != "":
		return Check{"last hook", ToDo, fmt.Sprintf("it came at %s, and failed: %s", last.Time.Local().Format(time.DateTime), last.Fail), "rewind doctor, in the directory where that was"}
	case trusted && worked.After(since.Add(soon)):
		return Check{"last hook", ToDo, fmt.Sprintf("it worked at %s, and no hook of it came since: it may have skipped them", worked.Local().Format(time.DateTime)), "type /hooks in " + a.program}
	case last.Time.IsZero():
		return Check{"last hook", Told, "none has come yet: give it a prompt, then ask again", ""}
	}
	return Check{"last hook", Well, "it came at " + last.Time.Local().Format(time.DateTime), ""}
}

// worked returns when the agent worked last, as far as its files tell: the zero time
// if they do not.
func (s *Setup) worked(a *agent) (at time.Time) {
	if a.name != "codex" {
		return at
	}
	dir := filepath.Join(a.dir(s.Getenv), "sessions")
	for range 3 { // year, month, day
		list, err := os.ReadDir(dir)
		if err != nil || len(list) == 0 {
			return at
		}
		dir = filepath.Join(dir, list[len(list)-1].Name())
	}
	list, _ := os.ReadDir(dir)
	for _, entry := range list {
		if info, err := entry.Info(); err == nil && strings.HasPrefix(entry.Name(), "rollout-") && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// examineTrust looks whether Codex runs our hooks: it skips those that nobody has
// trusted, without a word.
func (s *Setup) examineTrust(a *agent, p *plugin) (Check, bool) {
	const mend = "start codex, type /hooks and trust the hooks of rewind"
	keys, err := s.hookKeys(a, p)
	if err != nil {
		return Check{"trust", ToDo, err.Error(), ""}, false
	}
	text, err := content(filepath.Join(a.dir(s.Getenv), "config.toml"))
	if err != nil {
		return Check{"trust", ToDo, err.Error(), ""}, false
	}
	known := hookStates(text)
	var not, off []string
	for _, k := range keys {
		i := slices.IndexFunc(k.keys, func(key string) bool { return known[key].trusted })
		switch {
		case slices.ContainsFunc(k.keys, func(key string) bool { return known[key].off }):
			off = append(off, k.event)
		case i < 0:
			not = append(not, k.event)
		}
	}
	switch {
	case len(not) > 0:
		return Check{"trust", ToDo, "Codex skips these hooks of rewind without a word, because nobody has trusted them: " + strings.Join(not, ", "), mend}, false
	case len(off) > 0:
		return Check{"trust", ToDo, "these hooks of rewind are switched off: " + strings.Join(off, ", "), "start codex, type /hooks and switch them on"}, false
	}
	return Check{"trust", Well, "somebody has trusted its hooks", ""}, true
}
