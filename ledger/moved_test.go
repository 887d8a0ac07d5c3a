package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A family is a parent with a bound entry, and forks that label it.
func family(t *testing.T, dir string, forks int) (parent string, entry string, children []string) {
	t.Helper()
	p := newScript("")
	entry = p.user("one")
	p.record(Record{Kind: Turn, Bindings: []Binding{{entry, id(1)}}})
	parent = filepath.Join(dir, "2026_0197-session.jsonl")
	write(t, parent, p.text())
	for i := range forks {
		c := newScript(parent)
		c.n = 100
		c.label(entry, "keep")
		children = append(children, write(t, filepath.Join(dir, fmt.Sprint("child", i, ".jsonl")), c.text()))
	}
	return parent, entry, children
}

func TestAParentThatMovedIsStillTheParent(t *testing.T) {
	dir := t.TempDir()
	parent, entry, children := family(t, dir, 1)
	moved := filepath.Join(dir, "elsewhere", filepath.Base(parent))
	if err := os.Mkdir(filepath.Dir(moved), 0o700); err != nil {
		t.Fatal(err)
	}
	check := func(what string, sessions *Sessions, found bool) {
		t.Helper()
		child, err := sessions.Open(children[0])
		if err != nil {
			t.Fatal(err)
		}
		if sessions.Live(child)[id(1)].Reasons&Labelled != 0 != found {
			t.Errorf("%s: the label pins the parent's point: %v", what, !found)
		}
		if _, ok := sessions.Point(child, entry, all); ok != found {
			t.Errorf("%s: the point is found: %v", what, !found)
		}
	}
	asked := 0
	moves := func(path string) []string {
		if asked++; path != parent {
			t.Errorf("asked for %s", path)
		}
		return []string{parent, moved, filepath.Join(dir, "gone.jsonl")}
	}
	check("before", &Sessions{Moved: moves}, true)
	if asked > 0 {
		t.Error("asked for what lies where it was")
	}
	if err := os.Rename(parent, moved); err != nil {
		t.Fatal(err)
	}
	check("nobody knows", &Sessions{}, false)
	check("moved", &Sessions{Moved: moves}, true)
	// Another session may lie there now.
	other := newScript("")
	other.lines[0] = fmt.Sprintf(`{"type":"session","version":3,"id":"another","cwd":%q}`, dir)
	write(t, parent, other.text())
	check("another lies there", &Sessions{Moved: moves}, true)
}

func TestTheParentOfAFamilyIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	parent, _, children := family(t, dir, 20)
	sessions := Sessions{Keep: func(path string) bool { return path == parent }}
	for i, path := range append(slices.Clone(children), parent) {
		s, err := sessions.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if path != parent && sessions.Live(s)[id(1)].Reasons != Labelled {
			t.Errorf("%s: %v", path, sessions.Live(s))
		}
		if i == 0 { // what was read is not read again
			write(t, parent, "no session any more")
		}
	}
	if len(sessions.byPath) != 1 {
		t.Errorf("keeps %d sessions", len(sessions.byPath))
	}
}
