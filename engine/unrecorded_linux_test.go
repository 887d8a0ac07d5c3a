package engine

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A plan that looks twice before the worktree is watched begins the second look with what
// the first one saw, which nobody records. No later turn may take it for recorded.
func TestAPlanThatLooksTwiceLeavesNothingUnrecordedToLaterTurns(t *testing.T) {
	t.Parallel()
	for _, git := range []string{"", "with git"} {
		for _, later := range []string{"in memory", "in the file"} {
			t.Run(git+" "+later, func(t *testing.T) {
				t.Parallel()
				planThatLooksTwice(t, git != "", later == "in the file")
			})
		}
	}
}

func planThatLooksTwice(t *testing.T, git, flushed bool) {
	p := newPlace(t, git)
	p.env["REWIND_WATCH"] = "true"
	var watch Watch
	t.Cleanup(func() { watch.Close() })
	open := func() *Engine {
		e, err := watch.Open(t.Context(), p.dir, &Options{Getenv: p.getenv})
		p.must(err)
		return e
	}
	p.write("gen/a", "one")
	p.write("d/x", "old")
	back := Op{To: p.snap(p.open(), "", nil).ID}
	p.write(".gitignore", "gen\n")
	p.write("gen/a", "two")
	p.snap(open(), "", nil) // the table is in memory now, and nothing is watched yet
	p.write("d/x", "in no snapshot")
	time.Sleep(2500 * time.Millisecond) // what is young is read again
	_, err := open().Plan(t.Context(), back)
	p.must(err)
	if flushed {
		watch.Close()
		open = p.open
	}
	r, err := open().Snapshot(t.Context(), nil)
	p.must(err)
	p.write("d/x", "later")
	_, err = p.open().Do(t.Context(), Op{To: r.ID})
	p.must(err)
	p.want("d/x", "in no snapshot")
}

func TestARestoreThatCanOnlyNameConflictsIsNoStepBack(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("pipe", "1")
		p.write("f", "1")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("pipe")
		p.must(syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o644))
		p.write("f", "2")
		for range 2 {
			if r := p.do(e, Op{To: s.ID}); len(r.Conflicts) != 1 || r.Conflicts[0].Path != "pipe" {
				t.Fatalf("%+v", r)
			}
		}
		p.undo(e)
		p.want("f", "2")
	})
}
