package settings

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// Default is where values come from that nobody has set.
const Default = "default"

// A Value is one that counts, and where it was set: a file, the environment, or nowhere.
type Value struct {
	Text   string
	Origin string
}

// A Told is a setting as it is in force.
type Told struct {
	Name     string   // as people write it: rewind.maxSnapshots
	Variable string   // of the environment
	Means    string   // in a line
	Words    []string // what it may be; nil: a number or, where there may be many, patterns
	Many     bool     // there may be several values, and those of all sources count
	Values   []Value  // that count
}

// Default reports whether nobody has set it.
func (t *Told) Default() bool { return len(t.Values) == 0 || t.Values[0].Origin == Default }

// All tells of every setting.
func (s *Settings) All() (out []Told) {
	for _, k := range list() {
		values, ok := s.said[strings.ToLower(k.name)]
		if !ok && !k.many {
			values = []Value{{k.fallback, Default}}
		}
		out = append(out, Told{"rewind." + k.name, k.variable(), k.means, k.words, k.many, values})
	}
	return out
}

// say keeps what a source says of a setting, which was taken over.
func (s *Settings) say(k *setting, key string, c *gitconf.Config) {
	if !k.many {
		s.said[key] = nil
	}
	for _, v := range c.Settings() {
		if v.Name != "rewind."+key {
			continue
		}
		said := Value{v.Value, v.File}
		if v.File == "" {
			said.Origin = "environment"
		}
		if v.Bare {
			said.Text = "true"
		}
		if s.said[key] = append(s.said[key], said); !k.many {
			s.said[key] = s.said[key][len(s.said[key])-1:]
		}
	}
}

// Ignored returns why a setting would not count if it had these values in a repository or,
// where the file is another one, in that; "": it would. What the environment says is
// left out of it.
func Ignored(key string, from Sources, then Sources) string {
	nothing := func(string) string { return "" }
	from.Env, then.Env = nothing, nothing
	before := Load(from).Warnings()
	for _, w := range Load(then).Warnings() {
		if why, ok := strings.CutPrefix(w, "setting rewind."+key+" "); ok && !slices.Contains(before, w) {
			_, why, _ = strings.Cut(why, "is ignored: ")
			if _, value, ok := strings.Cut(why, gitconf.ErrValue.Error()+": "); ok {
				return value // it has no place in a file yet
			}
			return why
		}
	}
	return ""
}
