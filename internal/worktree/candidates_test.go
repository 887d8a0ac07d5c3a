//go:build !windows

package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// base scans all, and keeps what was seen.
func (p *place) base() *Base {
	p.t.Helper()
	r, err := Scan(context.Background(), p.config())
	p.must(err)
	b, err := r.Keep("store", r.State.Tree)
	p.must(err)
	if b == nil {
		p.t.Fatal("nothing was kept")
	}
	return b
}

// on scans on a base.
func (p *place) on(b *Base, only *Candidates) *Result {
	p.t.Helper()
	cfg := p.config()
	cfg.StatTable.Close()
	cfg.StatTable, cfg.Only = b.StatTable(), only
	if only != nil {
		b.Visit(only)
	}
	r, err := Scan(context.Background(), cfg)
	p.must(err)
	return r
}

// lstats is what lies below the root, but for git's own.
func (p *place) lstats() map[string]dirfd.Stat {
	all := map[string]dirfd.Stat{}
	p.must(filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.dir, path)
		if rel == ".git" {
			return fs.SkipDir
		}
		if rel == "." {
			rel = ""
		}
		all[rel], _ = dirfd.Lstat(p.dir, rel)
		return err
	}))
	return all
}

// changesOf makes candidates of what differs, as a watcher would that misses nothing.
func changesOf(was, is map[string]dirfd.Stat) *Candidates {
	c := NewCandidates()
	paths := maps.Clone(is)
	maps.Copy(paths, was)
	for path := range paths {
		a, had := was[path]
		b, has := is[path]
		if had && has && a == b {
			continue
		}
		dir, name := dirfd.Parent(path), path[strings.LastIndexByte(path, '/')+1:]
		if path != "" {
			c.Add(dir, name)
		}
		switch isDir := func(st dirfd.Stat) bool { return st.Mode&0o170000 == 0o040000 }; {
		case had && has && isDir(a) && isDir(b) && a.Ino == b.Ino:
			c.Add(path, "")
		case isDir(a) || isDir(b):
			c.AddBelow(path)
		}
	}
	return c
}

// TestAScanOfCandidatesIsAFullScan takes random steps. After each, a scan that is
// told what changed must find what a full scan finds, and leave the same rows.
func TestAScanOfCandidatesIsAFullScan(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 2
	}
	first := seed.Of(t)
	for i := range uint64(seeds) {
		seed := first + i
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { walkCandidates(t, seed, 14) })
	}
}

func walkCandidates(t *testing.T, seed uint64, steps int) {
	p := newRepo(t)
	w := &walker{place: p, r: rand.New(rand.NewPCG(seed, 7))}
	if w.r.IntN(3) > 0 { // a clock that trusts everything: rows then say the same whoever makes them
		p.now = time.Now().Add(time.Hour).UnixNano()
	}
	if w.r.IntN(2) == 0 { // limits of ignored files that are met all the time
		p.policy = few{Small{FileBytes: 5, DirFiles: 2, DirBytes: 8, Files: 1 + w.r.IntN(6), Bytes: 2 + int64(w.r.IntN(20)), Product: func(string) bool { return false }}}
	}
	for range 20 {
		w.step()
	}
	b, was := p.base(), p.lstats()
	for i := range steps {
		var done []string
		for range w.r.IntN(4) {
			done = append(done, w.step())
		}
		only := changesOf(was, p.lstats())
		full := p.on(b, nil)
		part := p.on(b, only)
		if w.differ(full, part); t.Failed() {
			t.Fatalf("seed %d: after step %d: %q", seed, i, done)
		}
		was = p.lstats()
		if _, ok := b.Update(part, "store", part.State.Tree); !ok {
			b = p.base()
		}
		for range w.r.IntN(2) {
			w.must(b.table.Flush())
		}
	}
	r := p.on(b, nil)
	p.table += ".none"
	if fresh := p.scan(); fresh.State != r.State {
		t.Fatalf("seed %d: without a table %+v, with the base %+v", seed, fresh.State, r.State)
	}
}

// differ fails where two scans of the same do not say the same.
func (w *walker) differ(full, part *Result) {
	w.t.Helper()
	if full.State != part.State || !slices.Equal(full.Skipped, part.Skipped) || !slices.Equal(full.Nested, part.Nested) {
		w.t.Errorf("all: %+v %v %v\ncandidates: %+v %v %v\n%v\n%v", full.State, full.Skipped, full.Nested,
			part.State, part.Skipped, part.Nested, w.recorded(full), w.recorded(part))
	}
	if w.now == 0 {
		return
	}
	rows, gone := full.changed()
	rows1, gone1 := part.changed()
	slices.Sort(gone)
	slices.Sort(gone1)
	same := func(a, b stattable.Row) bool { return a.Equal(b) }
	if !maps.EqualFunc(rows, rows1, same) || !slices.Equal(gone, gone1) {
		w.t.Errorf("all: rows of %q, and none of %q\ncandidates: rows of %q, and none of %q", slices.Sorted(maps.Keys(rows)), gone,
			slices.Sorted(maps.Keys(rows1)), gone1)
	}
}

func TestAScanOfCandidatesEntersOnlyTheWayToThem(t *testing.T) {
	p := newPlace(t)
	p.now = time.Now().Add(time.Hour).UnixNano()
	for i := range 30 {
		for k := range 5 {
			p.write(fmt.Sprintf("d%d/e%d/f", i, k), "1")
			p.write(fmt.Sprintf("d%d/e%d/g", i, k), "1")
		}
	}
	p.must(os.Link(p.path("d1/e1/f"), p.path("d1/e1/linked")))
	b := p.base()
	if r := p.on(b, NewCandidates()); r.Counters.Dirs != 3 || r.Counters.Stats != 2 || r.Counters.Opened != 0 {
		t.Errorf("no candidates: %+v, want the way to the two names of one file", r.Counters)
	}
	p.write("d7/e3/f", "2")
	c := NewCandidates()
	c.Add("d7/e3", "f")
	r := p.on(b, c)
	if r.Counters.Dirs != 5 || r.Counters.Stats != 4 || r.Counters.Opened != 1 || r.Counters.Trees != 3 {
		t.Errorf("one candidate: %+v", r.Counters)
	}
	if u, ok := b.Update(r, "store", r.State.Tree); !ok || len(u.Changed) != 3 || len(u.Removed) != 0 {
		t.Errorf("%v rows changed", u)
	}
	p.must(os.RemoveAll(p.path("d9")))
	c = NewCandidates()
	c.AddBelow("d9")
	r = p.on(b, c)
	if u, _ := b.Update(r, "store", r.State.Tree); len(u.Removed) != 6 || len(slices.Collect(b.Dirs(""))) != 1+30*6-6 {
		t.Errorf("rows of %v went, %d are left", u.Removed, len(slices.Collect(b.Dirs(""))))
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
	p.write("f", "1")
	b := p.base()
	p.write("a/b/c/d/e/f/g/h", "1")
	c := NewCandidates()
	c.AddBelow("a")
	r := p.on(b, c)
	if u, _ := b.Update(r, "store", r.State.Tree); len(u.Changed) != 8 || !slices.IsSorted(u.Changed) {
		t.Errorf("in this order: %q", u.Changed)
	}
}

func TestTheOtherNameOfAFileThatWasLinkedIsLookedAt(t *testing.T) {
	p := newPlace(t)
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.write("a/b/f", "1")
	p.write("c/d/g", "1")
	b := p.base()
	p.must(os.Link(p.path("a/b/f"), p.path("c/d/f")))
	p.must(os.Chmod(p.path("c/d/f"), 0o600)) // nothing tells a/b of either
	c := NewCandidates()
	c.Add("c/d", "f")
	part := p.on(b, c)
	if full := p.on(b, nil); full.State != part.State {
		t.Errorf("all: %v, candidates: %v", p.recorded(full), p.recorded(part))
	}
}

// TestARepositoryInPlaceOfAFileIsFollowedWithoutCandidates: git's tree has its
// commit, and neither the row around it nor what lies in it tells when that moves.
func TestARepositoryInPlaceOfAFileIsFollowedWithoutCandidates(t *testing.T) {
	p := newRepo(t)
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.write("d/f", "1")
	p.write(".git/info/exclude", "a/\n")
	p.write("a/f", "1")
	p.inConflictBelow("a")
	p.run("-C", "a", "init", "-q")
	b := p.base()
	for _, move := range [][]string{{"commit", "-q", "--allow-empty", "-m", "1"}, {"commit", "-q", "--allow-empty", "-m", "2"},
		{"update-ref", "-d", "HEAD"}, {"commit", "-q", "--allow-empty", "-m", "3"}} {
		p.run(append([]string{"-C", "a"}, move...)...)
		for range 2 {
			part, full := p.on(b, NewCandidates()), p.on(b, nil)
			want, err := p.oracle()
			p.must(err)
			if part.State != full.State || p.gitTree(part) != want || len(part.Nested) != 0 {
				t.Errorf("%v: %+v, of a full scan %+v, git's tree %s; nested are %v", move, part.State, full.State, want, part.Nested)
			}
			if _, ok := b.Update(part, "store", part.State.Tree); !ok {
				t.Fatal("the base is no good any more")
			}
		}
	}
}

// inConflictBelow gives the index a file, and below its name a submodule in a conflict.
func (p *place) inConflictBelow(name string) {
	p.t.Helper()
	cmd := exec.Command("git", "update-index", "-z", "--index-info")
	cmd.Dir, cmd.Env = p.dir, p.env()
	cmd.Stdin = strings.NewReader("100644 " + p.run("hash-object", "-w", "d/f") + " 0\t" + name + "\x00160000 " + strings.Repeat("12", 20) + " 2\t" + name + "/b/module\x00")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v %s", err, out)
	}
}

func TestARepositoryAroundFilesOfTheIndexDoesNotHaveTheIndexRead(t *testing.T) {
	for conflict, want := range map[bool]int{false: 0, true: 1} {
		p := newRepo(t)
		p.now = time.Now().Add(time.Hour).UnixNano()
		for _, f := range []string{"d/f", "a/f", "c/f"} {
			p.write(f, "1")
		}
		p.run("add", "a/f", "c/f")
		if conflict {
			p.inConflictBelow("e")
		}
		for _, dir := range []string{"a", "c", "e"} {
			p.run("init", "-q", dir)
			p.run("-C", dir, "commit", "-q", "--allow-empty", "-m", "1")
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

func TestAScanOfOneCandidateHasOneWorker(t *testing.T) {
	p := newPlace(t)
	const dirs = 20
	for i := range dirs {
		p.write(fmt.Sprintf("d/d%d/f", i), "x")
	}
	p.now = time.Now().Add(time.Hour).UnixNano()
	b := p.base()
	few, many := NewCandidates(), NewCandidates()
	few.Add("d/d7", "f")
	for i := range dirs {
		many.Add(fmt.Sprintf("d/d%d", i), "f")
	}
	if r := p.on(b, few); r.Counters.Dirs != 3 || r.Counters.workers != 1 {
		t.Errorf("one candidate: %+v", r.Counters)
	}
	if r := p.on(b, many); r.Counters.Dirs != dirs+2 || r.Counters.workers != 2 {
		t.Errorf("many candidates: %+v", r.Counters)
	}
	if r := p.scan(); r.Counters.workers < 2 {
		t.Errorf("everything: %+v", r.Counters)
	}
}
