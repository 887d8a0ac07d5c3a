package retention

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func (f forest) keep(p []byte) (oid.ID, error) {
	id := oid.BLAKE3.Sum(oid.Tree, p)
	f[id] = p
	return id, nil
}

// paths are selected paths.
type paths []string

func (p paths) Match(path string) bool { return slices.Contains(p, path) }

func (p paths) Below(dir string) bool {
	return dir == "" || slices.ContainsFunc(p, func(path string) bool { return strings.HasPrefix(path, dir+"/") })
}

func file(name, text string) tree.Entry {
	return tree.Entry{Name: name, Mode: tree.GitFile, ID: blob(text)}
}

func dir(name string, id oid.ID) tree.Entry {
	return tree.Entry{Name: name, Mode: tree.GitDir, ID: id}
}

func TestACutLeavesTheRestAndNamesWhatWent(t *testing.T) {
	f := forest{}
	s := &records.Snapshot{
		ID:      blob("commit"),
		Tree:    f.plant(dir("a", f.plant(file("secret", "one"))), dir("b", f.plant(file("kept", "two"), file("secret", "three")))),
		Overlay: f.plant(dir("a", f.plant(file("secret", "raw")))),
		Skipped: []records.Note{{Path: "x", Reason: "a socket"}},
	}
	e := &Editor{Algorithm: oid.BLAKE3, Selection: paths{"a/secret", "b/secret"}, Trees: f.load, Put: f.keep, Contents: map[oid.ID]bool{}}
	c, err := e.Cut(s)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	if want := f.plant(dir("b", f.plant(file("kept", "two")))); c.Tree != want { // git has no empty directory
		t.Errorf("the tree is %x", f[c.Tree])
	}
	if want := f.plant(dir("a", oid.BLAKE3.Sum(oid.Tree, nil))); c.Overlay != want { // the overlay has
		t.Errorf("the overlay is %x", f[c.Overlay])
	}
	if !slices.Equal(c.Paths, []string{"a/secret", "b/secret"}) {
		t.Errorf("%q went", c.Paths)
	}
	if want := map[oid.ID]bool{blob("one"): true, blob("three"): true, blob("raw"): true}; !maps.Equal(e.Contents, want) {
		t.Errorf("contents: %v", e.Contents)
	}
	n := c.Apply(s)
	if len(n.Skipped) != 3 || n.Skipped[1] != (records.Note{Path: "a/secret", Reason: Purged}) || len(s.Skipped) != 1 {
		t.Errorf("skipped: %v, before %v", n.Skipped, s.Skipped)
	}
}

func TestWhatHasNoneOfThePathsIsNotCut(t *testing.T) {
	f := forest{}
	s := &records.Snapshot{Tree: f.plant(file("kept", "two"), dir("sub", blob("a tree that nobody may ask for")))}
	e := &Editor{Algorithm: oid.BLAKE3, Selection: paths{"other/secret"}, Trees: f.load, Put: f.keep}
	if c, err := e.Cut(s); c != nil || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestADamagedTreeIsNamedAndNotCut(t *testing.T) {
	f := forest{}
	damaged, _ := f.keep([]byte("no tree"))
	e := &Editor{Algorithm: oid.BLAKE3, Selection: paths{"secret"}, Trees: f.load, Put: f.keep, Contents: map[oid.ID]bool{}}
	if c, err := e.Cut(&records.Snapshot{Tree: damaged}); c != nil || !errors.Is(err, records.ErrDamaged) {
		t.Errorf("%+v, %v", c, err)
	}
}
