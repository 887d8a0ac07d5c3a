package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/apply"
)

// crowded is a place with three states of many files, "one", "two" and
// "three": the first two are recorded, the third is what is there.
func crowded(t *testing.T) (*place, [2]*Recorded) {
	p := newPlace(t, false)
	e := p.open()
	var recorded [2]*Recorded
	for i, text := range []string{"one", "two", "three"} {
		for n := range 60 {
			p.write(fmt.Sprintf("d/%03d", n), fmt.Sprint(text, n))
		}
		if i < len(recorded) {
			r := p.take(e)
			recorded[i] = r
		}
	}
	return p, recorded
}

// wantState reads all files of a crowded place.
func (p *place) wantState(what, text string) {
	p.t.Helper()
	for n := range 60 {
		if got := p.read(fmt.Sprintf("d/%03d", n)); got != fmt.Sprint(text, n) {
			p.t.Fatalf("%s: d/%03d is %q, want %q", what, n, got, fmt.Sprint(text, n))
		}
	}
}

// cut begins an operation and cancels it when some of its steps are done.
func (p *place) cut(do func(*Engine, context.Context) (*Restored, error)) error {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := Open(ctx, p.dir, &Options{
		Getenv: p.getenv,
		Progress: func(now Progress) {
			if now.Step == "restore" && now.Done >= 10 {
				cancel()
			}
		},
	})
	p.must(err)
	defer e.Close()
	_, err = do(e, ctx)
	if !errors.Is(err, ErrUnfinished) {
		p.t.Fatalf("the operation was not cut short: %v", err)
	}
	return err
}

func TestRedoAfterAnInterruptedRedoDoesNotRedoOneMore(t *testing.T) {
	p, recorded := crowded(t)
	e, ctx := p.open(), context.Background()
	for _, r := range []*Recorded{recorded[1], recorded[0]} {
		p.do(e, Op{To: r.ID})
	}
	for range 2 {
		p.undo(e)
	}
	p.wantState("two undos", "three")
	p.cut(doing(Op{Verb: Redo}))
	plan, err := e.Plan(ctx, Op{Verb: Redo})
	p.must(err)
	if plan.Target.ID != recorded[1].ID && plan.Target.State() != recorded[1].State() {
		t.Errorf("the preview of the redo leads to %v, not to the state that the redo had begun to bring back", plan.Target.ID)
	}
	p.do(e, Op{Verb: Redo})
	p.wantState("the interrupted redo, finished", "two")
	p.do(e, Op{Verb: Redo})
	p.wantState("the next redo", "one")
	if _, err = e.Do(ctx, Op{Verb: Redo}); !errors.Is(err, ErrNothing) {
		t.Errorf("a third redo: %v", err)
	}
}

func TestThePreviewAfterAnInterruptionIsWhatComesNext(t *testing.T) {
	p, recorded := crowded(t)
	e := p.open()
	for _, r := range []*Recorded{recorded[1], recorded[0]} {
		p.do(e, Op{To: r.ID})
	}
	err := p.cut(doing(Op{Verb: Undo}))
	if strings.Contains(err.Error(), "undo takes it back") {
		t.Errorf("an unfinished undo is finished by undo, not taken back, but the error says: %v", err)
	}
	plan := p.plan(e, Op{Verb: Undo})
	if plan.Target.State() != recorded[1].State() {
		t.Errorf("the preview leads to %v, and undo to %v", plan.Target.ID, recorded[1].ID)
	}
	for _, c := range plan.Changes {
		if strings.Contains(string(c.Path), ".rewind-tmp") {
			t.Fatalf("the preview names a temporary file: %s", c.Path)
		}
	}
	p.undo(e)
	p.wantState("the interrupted undo, finished", "two")
}

func TestAnInterruptedRecoverySaysThatItStoppedHalfWay(t *testing.T) {
	p, recorded := crowded(t)
	restore := func(e *Engine, ctx context.Context) (*Restored, error) { return e.Do(ctx, Op{To: recorded[0].ID}) }
	p.cut(restore)
	p.cut(restore)
	p.do(p.open(), Op{Verb: Undo})
	p.wantState("undo of a restore that was interrupted twice", "three")
}

func TestRedoWithNothingToRedoLeavesAnInterruptedRestoreAlone(t *testing.T) {
	p, recorded := crowded(t)
	p.cut(doing(Op{To: recorded[0].ID}))
	e, ctx := p.open(), context.Background()
	if _, err := e.Do(ctx, Op{Verb: Redo}); !errors.Is(err, ErrNothing) {
		t.Fatalf("redo: %v", err)
	}
	s := p.status(e)
	if s.Unfinished == nil {
		t.Error("a redo that says that nothing was changed has finished the restore")
	}
}

// A step that gives a file another content reads it, when it has moved it aside.
func TestAStepThatReadsNoContentDoesNotRecogniseAFileByTimesThatWereYoung(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.write("old", "1")
	p.write("young", "1")
	soon := time.Now().Add(time.Hour) // as good as the tick that the scan is in
	p.must(os.Chtimes(filepath.Join(p.dir, "young"), soon, soon))
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := e.Snapshot(ctx, nil) // with two that read the same, seconds apart, it counts as old
		p.must(err)
		c, err := e.look(ctx, new(watched.Turn))
		p.must(err)
		if c.Fingerprint("young", true) != (apply.Fingerprint{}) {
			t.Fatal("a file that may be written again within the same tick is recognised by its times")
		}
		if c.Fingerprint("young", false).Mtime != soon.UnixNano() {
			t.Fatal("what the scan saw of a young file is not known")
		}
		if c.Fingerprint("old", true) != (apply.Fingerprint{}) {
			c.Close()
			return
		}
		c.Close()
		if time.Now().After(end) {
			t.Fatal("a file that was left alone for seconds has no fingerprint")
		}
	}
}

func TestAnUndoThatAPruneDropsBeforeTheRestoreBeginsIsRecordedAgain(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		e, other := p.open(), p.open()
		one := p.snap(e, "one", nil)
		p.must(e.Pin(context.Background(), "one", one.ID))
		p.snap(e, "of the present", nil) // to which undo returns, as nothing changes any more
		done := false
		atClock(e, 2, func() { // the worktree was scanned, and nothing names that snapshot yet
			done = true
			p.write("another", "file")
			p.take(other)
			if out := p.prune(other, &PruneOptions{MaxSnapshots: 1, Grace: -1}); len(out.Dropped) != 1 {
				t.Errorf("%d snapshots were dropped, not the undo", len(out.Dropped))
			}
		})
		p.do(e, Op{To: one.ID})
		if _, err := e.Do(context.Background(), Op{Verb: Undo}); err != nil || p.read("file") != "of the present" || !done {
			t.Errorf("%v, %q, %v", err, p.read("file"), done)
		}
		p.wantClean(e)
	}
}

func TestASnapshotThatIsTakenToBeReturnedToStandsWithItsOperation(t *testing.T) {
	p := newPlace(t, false)
	e, other := p.open(), p.open()
	one := p.snap(e, "one", nil)
	p.write("file", "of the present")
	e.opt.Progress = func(s Progress) {
		if s.Step != "restore" {
			return
		}
		st, err := other.Status(context.Background())
		if err != nil || st.Unfinished == nil || st.Unfinished.From != p.records(other)[0] {
			t.Errorf("while it writes: %+v, %v", st, err)
		}
	}
	during, stop := context.WithCancel(context.Background())
	atClock(e, 2, stop)
	if _, err := e.Do(during, Op{To: one.ID}); !errors.Is(err, context.Canceled) || len(p.records(other)) != 1 {
		t.Errorf("stopped before it begins: %v, %d snapshots", err, len(p.records(other)))
	}
	e.now = time.Now
	_, err := e.Do(context.Background(), Op{To: one.ID})
	if p.must(err); len(p.records(other)) != 2 || p.read("file") != "one" {
		t.Errorf("%d snapshots, %q", len(p.records(other)), p.read("file"))
	}
}

func TestAnUndoThatStillBringsItsSnapshotIntoGitHasNoEnd(t *testing.T) {
	p := newPlace(t, true)
	e, ctx := p.open(), context.Background()
	one := p.snap(e, "one", nil)
	for _, text := range []string{"two", "three"} {
		p.write("file", text)
		p.do(e, Op{To: one.ID})
	}
	lock := filepath.Join(p.dir, ".git", gitbridge.StoreRef) + ".lock"
	p.must(os.WriteFile(lock, nil, 0o644)) // as git holds it
	during, kill := context.WithCancel(ctx)
	done := make(chan error)
	p.write("more", "of which the undo makes a snapshot")
	go func() { _, err := p.open().Do(during, Op{Verb: Undo}); done <- err }()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		// On Windows it is not there for a moment, and who had it open would be in the way.
		if now, err := os.Lstat(filepath.Join(p.dir, "file")); err == nil && now.Size() == int64(len("three")) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the undo does not write while git is locked")
		}
	}
	if st, err := e.Status(ctx); err != nil || st.Unfinished == nil {
		t.Errorf("while it still works: %+v, %v", st, err)
	}
	kill()
	if err := <-done; !errors.Is(err, ErrUnfinished) {
		t.Errorf("got %v", err)
	}
	p.must(os.Remove(lock))
	for _, want := range []string{"three", "two"} { // the first finishes it
		p.undo(e)
		if got := p.read("file"); got != want {
			t.Errorf("file is %q, want %q", got, want)
		}
	}
}

func TestAnUndoTakesAwayNothingThatSomebodyElsePutThere(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", "*.log\n")
		p.write("ours.log", "1")
		p.write("theirs.log", "2")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("ours.log")
		p.remove("theirs.log")
		r := p.do(e, Op{To: s.ID, Agreed: func(*Diff) error { // the plan is made
			p.write("theirs.log", "2")
			return nil
		}})
		if r.Written != 1 || len(r.Conflicts) > 0 {
			t.Errorf("%+v", r)
		}
		if p.undo(e); p.exists("ours.log") || !p.exists("theirs.log") {
			t.Errorf("after the undo there is %v", p.picture())
		}
	})
}

func TestAnUndoOfAKilledRestoreKeepsWhatTheStoreHasLost(t *testing.T) {
	p, _ := interrupted(t)
	e := p.open()
	steps, op := p.unfinished(e)
	// The restore was killed between taking a file away and removing it.
	taken, old := "", ""
	for i := range steps {
		if now := steps[i].Path; strings.HasPrefix(p.read(now), "one") {
			taken, old = now, strings.Replace(p.read(now), "one", "three", 1)
			for name := range apply.Leftovers(steps[i:i+1], op.Key) {
				p.must(os.WriteFile(filepath.Join(p.dir, name), []byte(old), 0o644))
			}
			break
		}
	}
	if taken == "" {
		t.Fatal("the restore has written nothing: this proves nothing")
	}
	p.must(e.Close())
	p.damage(e, []byte(old))
	r := p.do(p.open(), Op{Verb: Undo})
	if p.read(taken) != old {
		t.Errorf("%s has %q, it had %q before the restore: %+v", taken, p.read(taken), old, r)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, filepath.Dir(taken), ".rewind-tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
