package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
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
		s, err := newSelection(&RestoreOptions{Paths: []string{c.text}}, exists)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := s.patterns(); !slices.Equal(got, []Path{Path(c.as)}) && c.as != "" {
			t.Errorf("%s is recorded as %q, want %q", c.text, got, c.as)
		}
		again, err := newSelection(&RestoreOptions{Paths: texts(s.patterns())}, func(string) (bool, error) { return false, errors.New("asked") })
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for _, p := range c.yes {
			if !s.match(p) || !again.match(p) {
				t.Errorf("%s does not select %s: %v, recorded %v", c.text, p, s.match(p), again.match(p))
			}
		}
		for _, p := range c.no {
			if s.match(p) || again.match(p) {
				t.Errorf("%s selects %s: %v, recorded %v", c.text, p, s.match(p), again.match(p))
			}
		}
	}
	for _, bad := range []string{"", "/a", "..", "../a", ":(glob)", ":(literal)../x", ":(top)a", ":(prefix:9)a", ":(prefix:1)a*", ":(prefix:-1)a", ":()a", ":(prefix:4)a//b"} {
		if _, err := newSelection(&RestoreOptions{Paths: []string{bad}}, exists); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAPathThatExistsMeansItself(t *testing.T) {
	ctx := context.Background()
	for _, onDisk := range []bool{true, false} { // or in the snapshot alone
		p := newPlace(t, false)
		for _, name := range []string{"[x].txt", "x.txt", "d/[x].txt"} {
			p.write(name, "old")
		}
		e := p.open()
		id := p.snap(e, "one", nil).ID
		p.write("x.txt", "new")
		p.write("d/[x].txt", "new")
		p.write("[x].txt", "new")
		if !onDisk {
			p.must(os.Remove(filepath.Join(p.dir, "[x].txt")))
		}
		d, err := e.Diff(ctx, mustFind(t, e, id), nil, []string{"[x].txt"})
		if err != nil || len(d.Changes) != 1 || d.Changes[0].Path != "[x].txt" {
			t.Errorf("%v: %+v", err, d)
		}
		if _, err := e.Restore(ctx, id, &RestoreOptions{Paths: []string{"[x].txt"}}); err != nil {
			t.Fatal(err)
		}
		if p.read("[x].txt") != "old" || p.read("x.txt") != "new" || p.read("d/[x].txt") != "new" {
			t.Errorf("%q %q %q", p.read("[x].txt"), p.read("x.txt"), p.read("d/[x].txt"))
		}
		// The undo means the same path, whatever exists now.
		p.must(os.Remove(filepath.Join(p.dir, "[x].txt")))
		if _, err := e.Undo(ctx); err != nil || p.read("x.txt") != "new" || p.exists("[x].txt") != onDisk {
			t.Errorf("%v: %q, %v", err, p.read("x.txt"), p.exists("[x].txt"))
		}
		if _, err := e.Restore(ctx, id, &RestoreOptions{Paths: []string{":(glob)[x].txt"}}); err != nil || p.read("x.txt") != "old" {
			t.Errorf("%v: %q", err, p.read("x.txt"))
		}
	}
}

func TestAPurgeTakesNamesAsTheyAre(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, false)
	p.write("[x].txt", "one")
	p.write("x.txt", "two")
	p.write("y.txt", "three")
	e := p.open()
	p.snap(e, "one", nil)
	out, err := e.Purge(ctx, []string{"[y].txt"}, false)
	if err != nil || out.Snapshots != 0 {
		t.Errorf("%v: %+v", err, out)
	}
	out, err = e.Purge(ctx, []string{"[x].txt"}, false)
	if err != nil || !slices.Equal(out.Paths, []Path{"[x].txt"}) {
		t.Errorf("%v: %+v", err, out)
	}
	out, err = e.Purge(ctx, []string{":(glob)[xy].txt"}, false)
	if err != nil || !slices.Equal(out.Paths, []Path{"x.txt", "y.txt"}) {
		t.Errorf("%v: %+v", err, out)
	}
}

func mustFind(t *testing.T, e *Engine, id interface{ String() string }) *Snapshot {
	t.Helper()
	s, err := e.Resolve(context.Background(), id.String())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
