package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// TestAPruneAfterAPurgeKeepsWhatSessionsNeed holds a prune after a purge to what
// the same prune drops before it, whatever a session needs a snapshot for.
func TestAPruneAfterAPurgeKeepsWhatSessionsNeed(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		p.env["REWIND_PIN_LABELED_ENTRIES"] = "true"
		p.write("secret", secret)
		e := p.open()
		var ids []oid.ID
		for i := range 9 {
			ids = append(ids, p.snap(e, fmt.Sprint(i), nil).ID)
		}
		agent := filepath.Join(p.home, ".pi", "agent")
		parent, child := p.session(agent, "parent", p.dir, ""), p.session(agent, "child", p.dir, "")
		child.lines = nil
		marked := parent.turn(ids[1])
		parent.label(parent.turn(ids[2]))
		parent.pending(ids[3])
		parent.op(ids[4], ids[5])
		parent.turn(ids[6])
		child.line(map[string]any{"type": "session", "version": 3, "id": "child", "timestamp": child.stamp(), "cwd": p.dir, "parentSession": parent.path})
		child.label(marked)
		parent.save(p)
		child.save(p)
		before := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1, DryRun: true})
		if len(before.Dropped) != 2 || before.Kept["a session's files, its way back, or what a fork begins with"] != 4 || before.Kept["of a labelled entry"] != 2 {
			t.Fatalf("%+v", before)
		}
		p.purged(e, "secret")
		now := p.records(e)
		slices.Reverse(now)
		out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
		if fmt.Sprint(out.Kept) != fmt.Sprint(before.Kept) || len(out.Dropped) != 2 || out.Dropped[0].ID != now[7] || out.Dropped[1].ID != now[0] {
			t.Errorf("kept %v, and before the purge %v; dropped %d", out.Kept, before.Kept, len(out.Dropped))
		}
		for i, id := range ids {
			s, err := e.Find(context.Background(), id.String())
			if gone := i == 0 || i == 7; gone == has(p.records(e), now[i]) || !gone && (err != nil || s.ID != now[i]) {
				t.Errorf("%d: %v, %v", i, s, err)
			}
		}
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
