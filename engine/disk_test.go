package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestHistoryThatPassesATenthOfTheDiskIsSaidOnceAndWhenItHasDoubled(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		e, free := p.open(), int64(1<<40)
		e.free = func(string) (int64, error) { return free, nil }
		step := 0
		take := func() *Recorded {
			step++
			return p.snap(e, noise(uint64(step), 50<<10), nil)
		}
		if r := take(); r.Cost != nil {
			t.Errorf("git %v: said of a large disk: %+v", git, *r.Cost)
		}
		c := e.costNow()
		if c.Store == 0 || git != (c.Git > 0) {
			t.Errorf("git %v: %+v", git, c)
		}
		free = 9 * (c.Store + c.Git)
		r := take()
		if r.Cost == nil || r.Cost.Free != free || r.Cost.Store < c.Store {
			t.Fatalf("git %v: nothing was said: %+v", git, r.Cost)
		}
		said := r.Cost.Store + r.Cost.Git
		if again, err := e.Snapshot(context.Background(), nil); err != nil || again.Cost != nil {
			t.Errorf("git %v: it was said of no new snapshot: %v", git, err)
		}
		for {
			e = p.open() // it is remembered by the store
			e.free = func(string) (int64, error) { return free, nil }
			r := take()
			now := e.costNow()
			if total := now.Store + now.Git; r.Cost == nil && total >= 2*said {
				t.Errorf("git %v: nothing was said at %d bytes after %d", git, total, said)
			} else if r.Cost != nil && total < 2*said {
				t.Errorf("git %v: it was said again at %d bytes after %d", git, total, said)
			} else if total >= 2*said {
				break
			}
		}
		st, err := e.Status(context.Background())
		if err != nil || !st.Much || st.FreeBytes == nil || *st.FreeBytes != free || git != (st.GitBytes > 0) {
			t.Errorf("git %v: status says %+v, %v", git, st, err)
		}
		e.free = func(string) (int64, error) { return 0, nil } // full is not unknown
		if st, err = e.Status(context.Background()); err != nil || !st.Much || st.FreeBytes == nil || *st.FreeBytes != 0 {
			t.Errorf("git %v: of a full disk status says %+v, %v", git, st, err)
		}
		e.free = func(string) (int64, error) { return 0, fmt.Errorf("unknown") }
		if st, err = e.Status(context.Background()); err != nil || st.Much || st.FreeBytes != nil {
			t.Errorf("git %v: status says %+v, %v", git, st, err)
		}
		if _, err := e.Purge(context.Background(), []string{"nothing"}, false); err != nil {
			t.Error(err)
		}
	}
}

func TestAPruneSaysWhatGitStillHolds(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "gc.pruneExpire", "1.day.ago")
	p.write("kept", noise(1, 30<<10))
	p.write("committed", noise(2, 30<<10))
	p.git("add", "committed")
	p.git("commit", "-q", "-m", "one")
	e := p.open()
	p.write("only", noise(3, 30<<10))
	p.snap(e, "one", nil)
	for _, name := range []string{"only", "committed"} {
		p.must(os.Remove(filepath.Join(p.dir, name)))
	}
	p.snap(e, "two", nil)
	want := func(out *Housekeeping) {
		t.Helper()
		g := out.Git
		// The commit, its tree, "only" and the first "file".
		if g.Objects != 4 || g.Bytes < 30<<10 || g.Bytes > 40<<10 || g.Expire != "1.day.ago" || g.Reflog {
			t.Errorf("%+v", g)
		}
	}
	if g := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1, DryRun: true, Startup: true}).Git; g.Objects != 0 {
		t.Errorf("at the start of a program it was looked for: %+v", g)
	}
	dry := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1, DryRun: true})
	want(dry)
	out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	want(out)
	if !p.gitHas(e, noise(3, 30<<10)) {
		t.Error("git does not have it")
	}
	if again := p.prune(e, &PruneOptions{MaxSnapshots: 1}); again.Git.Objects != 0 {
		t.Errorf("%+v of no snapshot", again.Git)
	}
	before, after, _, err := e.Collect(context.Background())
	p.must(err)
	if before == 0 || !p.gitHas(e, noise(3, 30<<10)) {
		t.Errorf("%d, %d: what is younger than a day is gone", before, after)
	}
	p.git("config", "gc.pruneExpire", "now")
	if _, _, _, err := p.open().Collect(context.Background()); err != nil || p.gitHas(e, noise(3, 30<<10)) {
		t.Errorf("%v: it is there still", err)
	}
	p.wantClean(p.open())
	if _, _, done, err := newPlace(t, false).open().Collect(context.Background()); done || err != nil {
		t.Errorf("without git: %v, %v", done, err)
	}
}
