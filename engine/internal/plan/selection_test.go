package plan

import (
	"errors"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

func TestWhatASelectionMeans(t *testing.T) {
	there := map[string]bool{"[x].txt": true, "a*": true, "[id]/p?": true}
	exists := func(p string) (bool, error) { return there[p], nil }
	for _, c := range []struct {
		text    string
		yes, no []string
		as      string // as an operation records it
	}{
		{"a/b", []string{"a/b", "a/b/c"}, []string{"a", "a/bc", "x/a/b"}, "a/b"},
		{"[x].txt", []string{"[x].txt", "[x].txt/y"}, []string{"x.txt", "d/[x].txt"}, ":(literal)[x].txt"},
		{"[y].txt", []string{"y.txt", "d/y.txt", "d/y.txt/z"}, []string{"[y].txt"}, ":(glob)[y].txt"},
		{"a*", []string{"a*", "a*/b"}, []string{"ab"}, ":(literal)a*"},
		{":(glob)a*", []string{"a*", "ab", "d/ab"}, []string{"b"}, ":(glob)a*"},
		{":(literal)z*", []string{"z*"}, []string{"zz"}, ":(literal)z*"},
		{":(literal):(glob)q", []string{":(glob)q"}, []string{"q"}, ":(literal):(glob)q"},
		{":(literal).", []string{"all", "of/it"}, nil, "."},
		{":(prefix:5)[id]/p?", []string{"[id]/p?"}, []string{"i/p?", "[id]/pp"}, ":(literal)[id]/p?"},
		{":(prefix:5)[id]/p", []string{"[id]/p"}, []string{"i/p", "d/p"}, ":(literal)[id]/p"},
		{":(prefix:5)[id]/*.go", []string{"[id]/a.go", "[id]/deep/b.go"}, []string{"i/a.go", "a.go"}, `:(glob)\[id]/**/*.go`},
		{":(glob,prefix:5)[id]/q/*", []string{"[id]/q/a", "[id]/q/a/b"}, []string{"[id]/r/q/a", "i/q/a"}, `:(glob)\[id]/q/*`},
		{"src/**/x", []string{"src/x", "src/a/b/x/y"}, []string{"a/src/x"}, ":(glob)src/**/x"},
	} {
		s, err := Select([]string{c.text}, exists)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := s.Patterns(); !slices.Equal(got, []string{c.as}) && c.as != "" {
			t.Errorf("%s is recorded as %q, want %q", c.text, got, c.as)
		}
		again, err := Select(s.Patterns(), func(string) (bool, error) { return false, errors.New("asked") })
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for _, p := range c.yes {
			if !s.Match(p) || !again.Match(p) {
				t.Errorf("%s does not select %s: %v, recorded %v", c.text, p, s.Match(p), again.Match(p))
			}
		}
		for _, p := range c.no {
			if s.Match(p) || again.Match(p) {
				t.Errorf("%s selects %s: %v, recorded %v", c.text, p, s.Match(p), again.Match(p))
			}
		}
	}
	for _, bad := range []string{"", "/a", "..", "../a", ":(glob)", ":(literal)../x", ":(top)a", ":(prefix:9)a", ":(prefix:1)a*", ":(prefix:-1)a", ":()a", ":(prefix:4)a//b"} {
		if _, err := Select([]string{bad}, exists); !errors.Is(err, records.ErrRefused) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
