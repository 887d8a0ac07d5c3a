package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// born skips a test where directories cannot be told apart by their birth.
func born(t *testing.T, e *Engine) {
	t.Helper()
	if !strings.HasPrefix(e.birth, "born ") && runtime.GOOS == "linux" {
		t.Skip("SKIPPED: this file system does not keep when a directory was made")
	}
}

func TestAWorktreeThatIsAddedAgainIsAnotherOne(t *testing.T) {
	p := newPlace(t, true)
	ctx := context.Background()
	p.write("file", "committed")
	p.git("add", ".")
	p.git("commit", "-qm", "one")
	linked := filepath.Join(filepath.Dir(p.dir), "linked")
	main := p.dir
	add := func() *Engine {
		p.git("worktree", "add", "-q", "--detach", linked)
		return p.openAt(linked)
	}
	e := add()
	born(t, e)
	var first *Recorded
	for _, text := range []string{"one", "two"} {
		p.dir = linked
		for n := range 40 {
			p.write("d/"+strings.Repeat("x", n+1), text)
		}
		r := p.take(e)
		if first == nil {
			first = r
		}
	}
	p.do(e, Op{To: first.ID})
	p.undo(e)
	p.cut(doing(Op{Verb: Redo}))
	p.dir = main
	p.git("worktree", "remove", "--force", linked)
	e = add()
	for n := range 40 {
		p.must(os.MkdirAll(filepath.Join(linked, "d"), 0o755))
		p.must(os.WriteFile(filepath.Join(linked, "d", strings.Repeat("x", n+1)), []byte("three"), 0o644))
	}
	st := p.status(e)
	if st.Unfinished != nil || st.Undo+st.Redo != 0 || len(st.Warnings) == 0 {
		t.Errorf("before anything was recorded: %+v", st)
	}
	r := p.take(e)
	if r.Recovered != nil || !errors.Is(r.Unfinished, ErrUnfinished) {
		t.Errorf("finished for another worktree: %+v, %v", r.Recovered, r.Unfinished)
	}
	for n := range 40 {
		if data, _ := os.ReadFile(filepath.Join(linked, "d", strings.Repeat("x", n+1))); string(data) != "three" {
			t.Fatalf("a file of the new worktree is %q", data)
		}
	}
	for _, verb := range []string{Undo, Redo} {
		if _, err := e.Do(ctx, Op{Verb: verb}); !errors.Is(err, ErrNothing) {
			t.Errorf("what another worktree did is offered: %v", err)
		}
	}
	if r, err := e.Snapshot(ctx, nil); err != nil || r.Unfinished != nil {
		t.Errorf("it is said again: %v, %v", err, r.Unfinished)
	}
	_, err := e.Do(ctx, Op{To: first.ID}) // by its id it is there
	p.must(err)
	p.do(e, Op{Verb: Undo})
}

func TestAMovedRepositoryKeepsItsHistoryAndACopyDoesNot(t *testing.T) {
	p := newPlace(t, true)
	ctx := context.Background()
	p.write("d/f", "one")
	e := p.open()
	born(t, e)
	one := p.take(e)
	p.write("d/f", "two")
	p.do(e, Op{To: one.ID})
	moved, copied := p.dir+"-moved", p.dir+"-copied"
	p.must(os.Rename(p.dir, moved))
	if out, err := exec.Command("cp", "-a", moved, copied).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no cp -a here: %s", out)
	}
	c := p.openAt(copied)
	if _, err := c.Do(ctx, Op{Verb: Undo}); !errors.Is(err, ErrNothing) {
		t.Errorf("undo in a copy: %v", err)
	}
	if list, err := c.List(ctx, nil); err != nil || len(list) != 2 {
		t.Errorf("a copy lists %d snapshots, %v", len(list), err)
	}
	p.do(p.openAt(moved), Op{Verb: Undo})
	if data, _ := os.ReadFile(filepath.Join(moved, "d", "f")); string(data) != "two" {
		t.Errorf("undo in the moved repository gives %q", data)
	}
}

func TestADirectoryThatIsMadeAnewIsAnotherOne(t *testing.T) {
	p, _ := interrupted(t)
	born(t, p.open())
	p.must(os.RemoveAll(p.dir))
	time.Sleep(20 * time.Millisecond) // the clock of file systems stands still for some milliseconds
	p.must(os.Mkdir(p.dir, 0o755))
	p.write("d/000", "three0")
	r := p.take(p.open())
	if r.Recovered != nil || !errors.Is(r.Unfinished, ErrUnfinished) || p.read("d/000") != "three0" {
		t.Errorf("%+v, %v, %q", r.Recovered, r.Unfinished, p.read("d/000"))
	}
}
