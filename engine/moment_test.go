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

func TestAnInterruptedRestoreLeadsSomewhereWhenItIsFinished(t *testing.T) {
	p, recorded := crowded(t)
	e, ctx := p.open(), context.Background()
	p.cut(doing(Op{To: recorded[0].ID}))
	p.wantHere(e, "interrupted", recorded[1].ID)
	_, err := e.recoverNow(ctx)
	p.must(err)
	p.wantHere(e, "finished", recorded[0].ID)
	p.cut(doing(Op{To: recorded[1].ID}))
	p.do(e, Op{Verb: Undo})
	p.wantHere(e, "interrupted and taken back", recorded[0].ID)
}

func TestWhereFilesStandSurvivesAPurgeAndAPrune(t *testing.T) {
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
	p.do(e, Op{Verb: Undo})
	p.do(e, Op{Verb: Redo})
	p.wantHere(e, "undone and redone since", now)
	for n := range 3 {
		p.write("f", string(rune('a'+n)))
		p.snap(e, "", nil)
	}
	p.restored(e, now.String())
	p.do(e, Op{Verb: Undo})
	here := p.resolved(e, "@")
	p.wantHere(e, "undone", here)
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	p.wantHere(e, "pruned", here)
}

// What undo needs is named by operations, which a purge has to take along.
func TestAPruneAfterAPurgeKeepsWhatUndoAndRedoNeed(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.write("secret", "x")
	one := p.snap(e, "one", nil).ID
	p.snap(e, "two", nil)
	p.write("file", "three") // of which the restore takes a snapshot
	p.restored(e, one.String())
	p.remove("secret")
	p.purge(e, "secret")
	p.snap(e, "four", nil)
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	for _, turn := range [][2]string{{Undo, "three"}, {Redo, "four"}} {
		p.do(e, Op{Verb: turn[0]})
		p.want("file", turn[1])
	}
}

func TestAPruneKeepsWhereTheFilesStandThoughNothingLedThere(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	one := p.snap(e, "one", nil).ID
	p.snap(e, "two", nil)
	p.write("file", "one")
	if r := p.restored(e, one.String()); !r.Undo.IsZero() {
		t.Fatalf("%+v: nothing had to change", r)
	}
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	p.wantHere(e, "pruned", one)
}

func TestAPruneLeavesWhatWasTakenUpMeanwhile(t *testing.T) {
	p, ctx := newPlace(t, false), t.Context()
	e := p.open()
	one := p.snap(e, "one", nil).ID
	p.snap(e, "two", nil)
	opt := &PruneOptions{MaxSnapshots: 1, Grace: -1}
	k := e.keeper(opt)
	out, err := k.Choose(ctx, e.limits(opt))
	p.must(err)
	p.must(e.Pin(ctx, "mine", one))
	if p.must(k.Drop(ctx, out)); len(out.Dropped) > 0 {
		t.Errorf("%v went", out.Dropped)
	}
	p.find(e, one.String())
}

// A record that is made anew from the commit can have a label; the labels of before went
// with the store, as pins do.
func TestASnapshotWhoseStoreWasLostCanHaveALabel(t *testing.T) {
	p := newPlace(t, true)
	e, ctx := p.open(), context.Background()
	first := p.snap(e, "one", nil).ID
	p.sync(e)
	e = p.loseStore(e)
	p.must(e.Label(ctx, first, "found again", false))
	if s, err := e.Find(ctx, "label:found again"); err != nil || s.ID != first {
		t.Errorf("%v, %v", s, err)
	}
}

func TestALabelThatIsTakenAwayLeavesASnapshotRecordedOnPurpose(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.snap(e, "one", nil)
	last := p.snap(e, "two", &SnapshotOptions{Label: "mine", Trigger: "undo"}).ID
	p.must(e.Label(ctx, last, "mine", true))
	if s, err := e.Find(ctx, "@"); err != nil || s.ID != last || s.OfRestore() || s.Label() != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestThePromptNamesTheStateBeforeIt(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	point := func(trigger, id string) *SnapshotOptions {
		return &SnapshotOptions{Session: "s", Entry: id, Trigger: trigger, Agent: "claude", Prompt: "words of " + id}
	}
	zero := p.snap(e, "zero", point("prompt", "6f96-1")).ID
	p.snap(e, "one", point("turn", "6f96-1"))
	p.snap(e, "half", point("prompt", "6f96-1")) // the agent was interrupted and began again
	two := p.snap(e, "two", point("prompt", "6f96-12")).ID
	for text, want := range map[string]any{
		"prompt:6f96-1": zero, "prompt:6f96-12": two, "prompt:6f96": ErrAmbiguous, "prompt:": ErrNoSnapshot, "prompt:7": ErrNoSnapshot,
	} {
		s, err := e.Find(context.Background(), text)
		if fails, ok := want.(error); ok {
			if !errors.Is(err, fails) {
				t.Errorf("%s: %v, want %v", text, err, fails)
			}
		} else if err != nil || s.ID != want {
			t.Errorf("%s: %v, %v, want %v", text, s, err, want)
		}
	}
	s := p.find(e, "prompt:6f96-12")
	if got := s.Points[0]; got.Agent != "claude" || got.Prompt != "words of 6f96-12" {
		t.Errorf("the point is %+v", got)
	}
}

func TestLimitsApplyToSessionsOfAgentsWithoutALedger(t *testing.T) {
	p := newPlace(t, false)
	p.must(os.MkdirAll(filepath.Join(p.home, ".pi", "agent", "sessions"), 0o755))
	e := p.open()
	old := p.snap(e, "old", &SnapshotOptions{Session: "s1", Agent: "claude"}).ID
	pi := p.snap(e, "of Pi", &SnapshotOptions{Session: "s2"}).ID
	last := p.snap(e, "last", &SnapshotOptions{Session: "s1", Agent: "claude"}).ID
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	if left := p.records(e); has(left, old) || !has(left, pi) || !has(left, last) {
		t.Errorf("%v are left of %v, %v, %v", left, old, pi, last)
	}
}
