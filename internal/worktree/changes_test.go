package worktree

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// kept scans all, and keeps what was seen.
func (p *place) kept() *stattable.Table {
	p.T.Helper()
	r, err := Scan(context.Background(), p.config())
	p.must(err)
	t, err := r.Keep("store", r.State.Tree)
	p.must(err)
	if t == nil {
		p.T.Fatal("nothing was kept")
	}
	return t
}

// on scans on a table in memory.
func (p *place) on(t *stattable.Table, only *Changes) *Result {
	p.T.Helper()
	cfg := p.config()
	cfg.StatTable.Close()
	cfg.StatTable, cfg.Only = t, only
	r, err := Scan(context.Background(), cfg)
	p.must(err)
	return r
}

// changes are these paths; a slash behind one means all below.
func changes(paths ...string) *Changes {
	c := &Changes{}
	for _, path := range paths {
		if dir, below := strings.CutSuffix(path, "/"); below {
			c.AddBelow(dir)
		} else {
			c.AddPath(path)
		}
	}
	return c
}

func TestAScanOfChangesEntersOnlyTheWayToThem(t *testing.T) {
	p := newPlace(t)
	p.now = time.Now().Add(time.Hour).UnixNano()
	for i := range 30 {
		for k := range 5 {
			p.Write(fmt.Sprintf("d%d/e%d/f", i, k), "1")
			p.Write(fmt.Sprintf("d%d/e%d/g", i, k), "1")
		}
	}
	p.must(os.Link(p.Path("d1/e1/f"), p.Path("d1/e1/linked")))
	b := p.kept()
	if r := p.on(b, changes()); r.Counters.Dirs != 3 || r.Counters.Stats != 2 || r.Counters.Opened != 0 {
		t.Errorf("no changes: %+v, want the way to the two names of one file", r.Counters)
	}
	p.Write("d7/e3/f", "2")
	r := p.on(b, changes("d7/e3/f"))
	if r.Counters.Dirs != 5 || r.Counters.Stats != 4 || r.Counters.Opened != 1 || r.Counters.Trees != 3 {
		t.Errorf("one change: %+v", r.Counters)
	}
	if u, ok := r.Update("store", r.State.Tree); !ok || len(u.Changed) != 3 || len(u.Removed) != 0 {
		t.Errorf("%v rows changed", u)
	}
	p.must(os.RemoveAll(p.Path("d9")))
	r = p.on(b, changes("d9/"))
	if u, _ := r.Update("store", r.State.Tree); len(u.Removed) != 6 || len(maps.Collect(b.Below(""))) != 1+30*6-6 {
		t.Errorf("rows of %v went, %d are left", u.Removed, len(maps.Collect(b.Below(""))))
	}
	if full := p.on(b, nil); full.State != r.State || full.Counters.Listed > 1 {
		t.Errorf("a full scan afterwards lists %d directories", full.Counters.Listed)
	}
	if _, ok := r.Lookup("d9/e1/f"); ok {
		t.Error("what is gone is still there")
	}
	if _, ok := r.Lookup("d8/e1/f"); !ok {
		t.Error("what was not looked at is gone")
	}
}

// Who watches the directories in this order is told of what takes the place of one that
// is watched already.
func TestADirectoryThatIsNewComesBeforeThoseInIt(t *testing.T) {
	p := newPlace(t)
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.Write("f", "1")
	b := p.kept()
	p.Write("a/b/c/d/e/f/g/h", "1")
	r := p.on(b, changes("a/"))
	if u, _ := r.Update("store", r.State.Tree); len(u.Changed) != 8 || !slices.IsSorted(u.Changed) {
		t.Errorf("in this order: %q", u.Changed)
	}
}

func TestTheOtherNameOfAFileThatWasLinkedIsLookedAt(t *testing.T) {
	p := newPlace(t)
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.Write("a/b/f", "1")
	p.Write("c/d/g", "1")
	b := p.kept()
	p.must(os.Link(p.Path("a/b/f"), p.Path("c/d/f")))
	p.must(os.Chmod(p.Path("c/d/f"), 0o600)) // nothing tells a/b of either
	part := p.on(b, changes("c/d/f"))
	if full := p.on(b, nil); full.State != part.State {
		t.Errorf("all: %v, changes: %v", p.recorded(full), p.recorded(part))
	}
}

// TestARepositoryInPlaceOfAFileIsFollowedWithoutChanges: git's tree has its
// commit, and neither the row around it nor what lies in it tells when that moves.
func TestARepositoryInPlaceOfAFileIsFollowedWithoutChanges(t *testing.T) {
	p := newRepo(t)
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.Write("d/f", "1")
	p.Write(".git/info/exclude", "a/\n")
	p.Write("a/f", "1")
	p.inConflictBelow("a")
	p.Git("-C", "a", "init", "-q")
	b := p.kept()
	for _, move := range [][]string{{"commit", "-q", "--allow-empty", "-m", "1"}, {"commit", "-q", "--allow-empty", "-m", "2"},
		{"update-ref", "-d", "HEAD"}, {"commit", "-q", "--allow-empty", "-m", "3"}} {
		p.Git(append([]string{"-C", "a"}, move...)...)
		for range 2 {
			part, full := p.on(b, changes()), p.on(b, nil)
			want, err := p.oracle()
			p.must(err)
			if part.State != full.State || p.gitTree(part) != want || len(part.Nested) != 0 {
				t.Errorf("%v: %+v, of a full scan %+v, git's tree %s; nested are %v", move, part.State, full.State, want, part.Nested)
			}
			if _, ok := part.Update("store", part.State.Tree); !ok {
				t.Fatal("the table is no good any more")
			}
		}
	}
}

// inConflictBelow gives the index a file, and below its name a submodule in a conflict.
func (p *place) inConflictBelow(name string) {
	p.T.Helper()
	p.Give("100644 "+p.Git("hash-object", "-w", "d/f")+" 0\t"+name+"\x00160000 "+strings.Repeat("12", 20)+" 2\t"+name+"/b/module\x00",
		"update-index", "-z", "--index-info")
}

func TestARepositoryAroundFilesOfTheIndexDoesNotHaveTheIndexRead(t *testing.T) {
	for conflict, want := range map[bool]int{false: 0, true: 1} {
		p := newRepo(t)
		p.now = time.Now().Add(time.Hour).UnixNano()
		for _, f := range []string{"d/f", "a/f", "c/f"} {
			p.Write(f, "1")
		}
		p.Git("add", "a/f", "c/f")
		if conflict {
			p.inConflictBelow("e")
		}
		for _, dir := range []string{"a", "c", "e"} {
			p.Git("init", "-q", dir)
			p.Git("-C", dir, "commit", "-q", "--allow-empty", "-m", "1")
		}
		p.scan()
		reads := 0
		p.scan(func(cfg *Config) {
			index := cfg.Repo.Index
			cfg.Repo.Index = func() (*gitindex.Index, error) { reads++; return index() }
		})
		if reads != want {
			t.Errorf("with a file in the place of a repository %v: the index is read %d times, want %d", conflict, reads, want)
		}
	}
}

func TestAScanOfOneChangeHasOneWorker(t *testing.T) {
	p := newPlace(t)
	const dirs = 20
	for i := range dirs {
		p.Write(fmt.Sprintf("d/d%d/f", i), "x")
	}
	p.now = time.Now().Add(time.Hour).UnixNano()
	b := p.kept()
	few, many := changes("d/d7/f"), changes()
	for i := range dirs {
		many.AddPath(fmt.Sprintf("d/d%d/f", i))
	}
	if r := p.on(b, few); r.Counters.Dirs != 3 || r.Counters.workers != 1 {
		t.Errorf("one change: %+v", r.Counters)
	}
	if r := p.on(b, many); r.Counters.Dirs != dirs+2 || r.Counters.workers != 2 {
		t.Errorf("many changes: %+v", r.Counters)
	}
	if r := p.scan(); r.Counters.workers < 2 {
		t.Errorf("everything: %+v", r.Counters)
	}
}
