package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

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
		d, err := e.Diff(ctx, p.find(e, id.String()), nil, []string{"[x].txt"})
		if err != nil || len(d.Changes) != 1 || d.Changes[0].Path != "[x].txt" {
			t.Errorf("%v: %+v", err, d)
		}
		if _, err := e.Do(ctx, Op{To: id, Paths: []string{"[x].txt"}}); err != nil {
			t.Fatal(err)
		}
		if p.read("[x].txt") != "old" || p.read("x.txt") != "new" || p.read("d/[x].txt") != "new" {
			t.Errorf("%q %q %q", p.read("[x].txt"), p.read("x.txt"), p.read("d/[x].txt"))
		}
		// The undo means the same path, whatever exists now.
		p.must(os.Remove(filepath.Join(p.dir, "[x].txt")))
		if _, err := e.Do(ctx, Op{Verb: Undo}); err != nil || p.read("x.txt") != "new" || p.exists("[x].txt") != onDisk {
			t.Errorf("%v: %q, %v", err, p.read("x.txt"), p.exists("[x].txt"))
		}
		if _, err := e.Do(ctx, Op{To: id, Paths: []string{":(glob)[x].txt"}}); err != nil || p.read("x.txt") != "old" {
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
	if err != nil || out.Purged != 0 {
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
