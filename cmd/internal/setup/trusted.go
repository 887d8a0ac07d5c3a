package setup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Codex knows a hook by a key: where it stands, the event, and its place in the lists
// there. What the user has said of it is in a table of config.toml by that key. The
// form was taken from what codex 0.169.0 answers ("hooks/list" of its app server).

// A hookKey names one of our hooks as Codex does.
type hookKey struct {
	event string
	keys  []string // any of them: a folder may have two names
}

// hookKeys returns the keys of our hooks: of the plugin, or of what setup has put
// into hooks.json.
func (s *Setup) hookKeys(a *agent, p *plugin) ([]hookKey, error) {
	file := filepath.Join(a.dir(s.Getenv), a.hooks)
	sources, ours := []string{file}, a.isOurs
	if real, err := filepath.EvalSymlinks(file); err == nil && real != file {
		sources = append(sources, real)
	}
	if p != nil {
		file, sources = filepath.Join(p.dir, "hooks", "hooks.json"), []string{pluginName + ":hooks/hooks.json"}
		ours = func([]byte) bool { return true }
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list struct {
		Hooks map[string][]struct{ Hooks []json.RawMessage }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []hookKey
	for event, groups := range list.Hooks {
		for g, group := range groups {
			for h, hook := range group.Hooks {
				if !ours(hook) {
					continue
				}
				k := hookKey{event: event}
				for _, source := range sources {
					k.keys = append(k.keys, fmt.Sprintf("%s:%s:%d:%d", source, snake(event), g, h))
				}
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, func(a, b hookKey) int { return strings.Compare(a.keys[0], b.keys[0]) })
	return out, nil
}

// snake turns an event into the form that it has in a key: UserPromptSubmit into
// user_prompt_submit.
func snake(event string) string {
	return strings.ToLower(capital().ReplaceAllString(event, "${1}_$2"))
}

var capital = pattern(`([a-z])([A-Z])`)

// A hookState is what the user has said of a hook.
type hookState struct{ trusted, off bool }

var (
	stateTable = pattern(`^\s*\[\s*hooks\s*\.\s*state\s*\.\s*("(?:[^"\\]|\\.)*"|'[^']*')\s*\]`)
	stateEntry = pattern(`^\s*("(?:[^"\\]|\\.)*"|'[^']*')\s*[.=](.*)`)
	anyTable   = pattern(`^\s*\[`)
	statesOnly = pattern(`^\s*\[\s*hooks\s*\.\s*state\s*\]`)
)

// hookStates reads what Codex has written of hooks into its configuration: a table
// for each, or all in one. It is no reader of TOML: what somebody has written in
// another form counts as not said.
func hookStates(text []byte) map[string]hookState {
	out, at, all := map[string]hookState{}, "", false
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch m := stateTable().FindStringSubmatch(line); {
		case m != nil:
			at, all = unquoted(m[1]), false
			continue
		case anyTable().MatchString(line):
			at, all = "", statesOnly().MatchString(line)
			continue
		}
		key := at
		if m := stateEntry().FindStringSubmatch(line); all && m != nil {
			key, line = unquoted(m[1]), m[2]
		}
		if key == "" {
			continue
		}
		st := out[key]
		st.trusted = st.trusted || says(line, "trusted_hash", `["']sha256:`)
		st.off = st.off || says(line, "enabled", "false")
		out[key] = st
	}
	return out
}

// says reports whether a line gives a name this value.
func says(line, name, value string) bool {
	return regexp.MustCompile(`(^|[\s{,.])` + name + `\s*=\s*` + value).MatchString(line)
}

func unquoted(s string) string {
	if text, err := strconv.Unquote(s); err == nil && s[0] == '"' {
		return text
	}
	return s[1 : len(s)-1]
}
