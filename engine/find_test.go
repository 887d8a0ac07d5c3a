package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// purged takes a path out of every snapshot and fails if none had it.
func (p *place) purged(e *Engine, path string) {
	p.t.Helper()
	out := p.purge(e, path)
	if out.Purged == 0 || out.Bridge != nil {
		p.t.Fatalf("%+v", out)
	}
}

func TestAScanOfOneLineageKnowsWhatAPurgeRenamed(t *testing.T) {
	p := newPlace(t, false)
	p.env["REWIND_SCAN_MODE"] = settings.ScanAncestors
	p.write("secret", secret)
	e := p.open()
	s := p.session(filepath.Join(p.home, ".pi", "agent"), "s", p.dir, "")
	for i := range 4 {
		s.turn(p.snap(e, fmt.Sprint(i), nil).ID)
	}
	s.save(p)
	p.snap(e, "last", nil)
	p.purged(e, "secret")
	out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Session: "s", Grace: -1})
	if len(out.Dropped) != 3 || out.Kept["of a session that the scan mode leaves alone"] != 0 {
		t.Errorf("%d dropped, %v", len(out.Dropped), out.Kept)
	}
}

func TestACheckpointIsFoundAsWhatItWasImportedAs(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, true)
	e := p.open()
	hook := p.hook("by another program")
	s, err := e.Find(ctx, hook.String())
	if err != nil || s.ID != hook {
		t.Fatalf("%v, %v", s, err)
	}
	out, err := e.Import(ctx, "", false)
	p.must(err)
	if s, err = e.Find(ctx, hook.String()); err != nil || s.ID != out.Imported[0].ID {
		t.Errorf("%v, %v", s, err)
	}
	// What a ledger says of the checkpoint holds the import.
	agent := filepath.Join(p.home, ".pi", "agent")
	ledger := p.session(agent, "s", p.dir, "")
	ledger.op(hook, hook)
	ledger.save(p)
	p.snap(e, "one", nil)
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	if !has(p.records(e), s.ID) {
		t.Error("the import went, though a session's files are those of the checkpoint")
	}
}

func TestAskingForManyUnknownIdsReadsTheStoreOnce(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, false)
	e := p.open()
	for i := range 100 {
		p.snap(e, fmt.Sprint(i), nil)
	}
	var unknown []oid.ID
	for i := range 200 {
		unknown = append(unknown, oid.BLAKE3.Sum(oid.Blob, fmt.Append(nil, i)))
	}
	file := filepath.Join(p.home, "s.jsonl")
	s := p.session(p.home, "s", p.dir, "")
	for _, id := range unknown {
		s.turn(id)
	}
	s.path = file
	s.save(p)
	work := func(f func()) float64 { return testing.AllocsPerRun(2, f) }
	one := work(func() { _, err := e.Existing(ctx, unknown[:1]); p.must(err) })
	many := work(func() {
		if found, err := e.Existing(ctx, unknown); err != nil || len(found) > 0 {
			t.Fatal(found, err)
		}
	})
	// The names of the records cost five each; beyond them an id costs next to nothing.
	if many > one+200*10 {
		t.Errorf("200 ids cost %v allocations, one %v", many, one)
	}
	if one < 300 {
		t.Errorf("one id cost %v allocations: this test proves nothing", one)
	}
	points := work(func() { _, _, err := e.Points(ctx, file, "", nil); p.must(err) })
	if points > one+200*100 {
		t.Errorf("the points of 200 entries cost %v allocations, one id %v", points, one)
	}
	_ = os.Remove(file)
}

func TestAPinNeedsNoStoreAndHoldsWhatTheRefKeeps(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, true)
	hook := p.hook("by another program")
	p.write("file", "committed")
	p.commit("one")
	head, err := oid.Parse(p.git("rev-parse", "HEAD"))
	p.must(err)
	e := p.open()
	if err := e.Pin(ctx, "head", head); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("a commit that is no snapshot: %v", err)
	}
	if p.storeOf(e) != nil {
		t.Error("a store was made for nothing")
	}
	p.must(e.Pin(ctx, "theirs", hook))
	pins, err := e.Pins(ctx)
	if err != nil || pins["theirs"] != hook {
		t.Errorf("%v, %v", pins, err)
	}
	s := p.session(filepath.Join(p.home, ".pi", "agent"), "s", p.dir, "")
	s.turn(hook)
	s.turn(p.hook("by another program, later"))
	s.save(p)
	p.snap(e, "mine", nil)
	out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	if !has(p.inRef(e), hook) || out.Kept["pinned by name"] != 1 {
		t.Errorf("a pinned snapshot of another program went: %+v", out)
	}
	// The store is lost: a pin finds its record again in the ref.
	mine := p.records(e)[0]
	e = p.loseStore(e)
	p.must(e.Pin(ctx, "mine", mine))
	if pins, err := e.Pins(ctx); err != nil || pins["mine"] != mine || !has(p.records(e), mine) {
		t.Errorf("%v, %v", pins, err)
	}
}

func TestAPinOfWhatAnotherSystemAloneKeepsIsRefused(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t, true)
	e := p.open()
	p.write("file", "one")
	p.commit("one")
	r, err := e.Snapshot(ctx, &SnapshotOptions{Layout: "checkpoint.sh"})
	p.must(errors.Join(err, r.LayoutError))
	commit, err := oid.Parse(p.git("rev-parse", r.Ref))
	p.must(err)
	if err := e.Pin(ctx, "theirs", commit); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}
