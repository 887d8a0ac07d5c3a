package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// resolved finds a snapshot by what a person types; zero: there is none.
func (p *place) resolved(e *Engine, text string) oid.ID {
	p.t.Helper()
	s, err := e.Find(context.Background(), text)
	if errors.Is(err, ErrNoSnapshot) {
		return oid.ID{}
	}
	p.must(err)
	return s.ID
}

// wantHere checks where the files stand.
func (p *place) wantHere(e *Engine, what string, want oid.ID) {
	p.t.Helper()
	s, err := e.Here(context.Background())
	p.must(err)
	st := p.status(e)
	if s == nil || s.ID != want || st.Here != want {
		p.t.Errorf("%s: the files stand at %+v (status: %v), not at %v", what, s, st.Here, want)
	}
}

// restored restores a snapshot by what a person types.
func (p *place) restored(e *Engine, text string, paths ...string) *Restored {
	p.t.Helper()
	r := p.do(e, Op{To: p.resolved(e, text), Paths: paths})
	return r
}

func (p *place) undone(e *Engine, do func(*Engine, context.Context) (*Restored, error)) *Restored {
	p.t.Helper()
	r, err := do(e, context.Background())
	p.must(err)
	return r
}

func TestTheLastSnapshotIsTheLastOnPurpose(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		e := p.open()
		p.write("f", "good")
		good := p.snap(e, "good", nil).ID
		p.write("f", "bad")
		for n := range 3 {
			r := p.restored(e, "@")
			if p.read("f") != "good" || r.ID != good || r.Undo.IsZero() != (n > 0) {
				t.Fatalf("restore @ number %d made it %q: %+v", n+1, p.read("f"), r)
			}
		}
		ops, err := e.Operations(context.Background())
		p.must(err)
		if len(ops) != 1 || p.resolved(e, "undo:1") != ops[0].From || !p.resolved(e, "undo:2").IsZero() {
			t.Errorf("what changed nothing is a step of the history: %+v", ops)
		}
		for _, text := range []string{"@~1", "undo:0", "undo:x", "undo:+1", "undo:"} {
			if id := p.resolved(e, text); !id.IsZero() {
				t.Errorf("%s is %v", text, id)
			}
		}
		p.write("f", "better")
		better := p.snap(e, "", nil).ID
		if p.resolved(e, "@") != better || p.resolved(e, "@~1") != good {
			t.Error("an undo snapshot counts")
		}
		p.undone(e, doing(Op{Verb: Undo}))
		if p.read("f") != "bad" || p.resolved(e, "@") != better || p.resolved(e, "undo:2") != ops[0].From {
			t.Errorf("after the undo it is %q, and @ is %v", p.read("f"), p.resolved(e, "@"))
		}
		if s, err := e.Find(context.Background(), p.resolved(e, "undo:1").String()); err != nil || s.OfRestore() {
			t.Errorf("what the undo replaced was recorded already, on purpose: %+v, %v", s, err)
		}
	}
}

func TestWhatARestoreTookIsOnPurposeOnceSomebodyRecordsIt(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.write("f", "good")
	good := p.snap(e, "", nil).ID
	p.write("f", "bad")
	undo := p.restored(e, "@").Undo
	p.write("f", "bad")
	if r := p.snap(e, "", nil); !r.Reused || r.ID != undo {
		t.Fatalf("the state was not found again: %+v", r)
	}
	if p.resolved(e, "@") != undo || p.resolved(e, "@~1") != good {
		t.Errorf("@ is %v", p.resolved(e, "@"))
	}
	p.wantHere(e, "recorded again", undo)
	_, err := e.Snapshot(context.Background(), &SnapshotOptions{Trigger: records.TriggerUndo})
	if !errors.Is(err, ErrRefused) {
		t.Errorf("the trigger of restores was taken: %v", err)
	}
	for _, name := range []string{"@", "@~1", "undo:1"} {
		if err := e.Pin(context.Background(), name, good); !errors.Is(err, ErrRefused) {
			t.Errorf("a pin is called %s: %v", name, err)
		}
	}
}

func TestFilesStandWhereTheyWereRestored(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, true)
	e := p.open()
	if s, err := e.Here(ctx); s != nil || err != nil {
		t.Fatalf("nothing was recorded, and the files stand at %v, %v", s, err)
	}
	p.write("f", "one")
	p.write("g", "one")
	one := p.snap(e, "", nil).ID
	p.write("f", "two")
	p.write("g", "two")
	two := p.snap(e, "", nil).ID
	p.wantHere(e, "two snapshots", two)
	p.restored(e, "@~1", "f")
	p.wantHere(e, "one path of another snapshot", two)
	p.restored(e, "@~1")
	p.wantHere(e, "a restore", one)
	p.undone(e, doing(Op{Verb: Undo}))
	p.wantHere(e, "its undo", two)
	p.undone(e, doing(Op{Verb: Redo}))
	p.wantHere(e, "its redo", one)
	p.write("f", "three")
	p.wantHere(e, "an edit", one)
	r := p.snap(e, "", nil)
	if p.wantHere(e, "a snapshot", r.ID); r.Changed != 1 {
		t.Errorf("%d paths changed since what was restored, not 1", r.Changed)
	}
	p.write("f", "two")
	p.write("g", "two")
	p.restored(e, "@~1")
	p.wantHere(e, "a restore that found nothing to change", two)
	p.write("f", "three")
	p.write("g", "one")
	if again := p.snap(e, "", nil); !again.Reused || again.ID != r.ID {
		t.Errorf("recorded again: %+v", again)
	}
	p.wantHere(e, "the same state recorded again", r.ID)
}

func TestAnInterruptedRestoreLeadsSomewhereWhenItIsFinished(t *testing.T) {
	p, recorded := crowded(t)
	e, ctx := p.open(), context.Background()
	p.cut(doing(Op{To: recorded[0].ID}))
	p.wantHere(e, "interrupted", recorded[1].ID)
	_, err := e.recoverNow(ctx)
	p.must(err)
	p.wantHere(e, "finished", recorded[0].ID)
	p.cut(doing(Op{To: recorded[1].ID}))
	p.undone(e, doing(Op{Verb: Undo}))
	p.wantHere(e, "interrupted and taken back", recorded[0].ID)
}

func TestWhereFilesStandSurvivesAPurgeAndAPrune(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, false)
	e := p.open()
	p.write("f", "one")
	p.write("secret", "x")
	one := p.snap(e, "", nil).ID
	p.write("f", "two")
	p.snap(e, "", nil)
	p.restored(e, one.String())
	p.must(os.Remove(filepath.Join(p.dir, "secret")))
	p.purge(e, "secret")
	now := p.resolved(e, one.String())
	if now == one || now.IsZero() {
		t.Fatalf("the purge changed nothing: %v", now)
	}
	p.wantHere(e, "purged", now)
	p.undone(e, doing(Op{Verb: Undo}))
	p.undone(e, doing(Op{Verb: Redo}))
	p.wantHere(e, "undone and redone since", now)
	// An earlier version has left restores, and did not say where they led.
	p.must(e.update(ctx, func(u *records.Update) error { return u.Stand(oid.ID{}) }))
	p.wantHere(e, "a store of before", p.resolved(e, "@"))
	p.must(e.update(ctx, func(u *records.Update) error { return u.Stand(now) }))
	for n := range 3 {
		p.write("f", string(rune('a'+n)))
		p.snap(e, "", nil)
	}
	p.restored(e, now.String())
	p.undone(e, doing(Op{Verb: Undo}))
	here := p.resolved(e, "@")
	p.wantHere(e, "undone", here)
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	p.wantHere(e, "pruned", here)
}

func TestEachWorktreeStandsByItself(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.write("f", "one")
	p.commit("one")
	one := p.snap(e, "", nil).ID
	dir := filepath.Join(filepath.Dir(p.dir), "linked")
	p.git("worktree", "add", "-q", dir)
	l := p.openAt(dir)
	other := p.take(l)
	p.must(os.WriteFile(filepath.Join(dir, "f"), []byte("edited"), 0o644))
	p.do(l, Op{To: one})
	p.wantHere(l, "restored there", one)
	p.wantHere(e, "nothing was done here", one)
	if p.resolved(l, "@") != other.ID || p.resolved(e, "@") != one || !p.resolved(e, "undo:1").IsZero() {
		t.Error("one worktree's history is another's")
	}
}
