package cas

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestAStageKnowsWhatWasPutIntoIt(t *testing.T) {
	s, r := newStore(t), seeded(t)
	g := s.Stage()
	var ids []oid.ID
	for _, size := range []int{0, 500, wholeMax + 1, 5 << 20} {
		id, err := g.Put(t.Context(), oid.Blob, text(r, size), oid.ID{})
		must(t, err)
		ids = append(ids, id)
	}
	for _, id := range ids {
		if !g.Has(id) {
			t.Errorf("%v was put", id)
		}
	}
	must(t, g.Commit(t.Context(), nil))
	for _, id := range ids {
		if g.Has(id) {
			t.Errorf("%v is in a stage that was committed", id)
		}
	}
}

func TestWhatWasFlushedIsKnownAndLookedForWhenItIsCommitted(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		s, r := newStore(t), seeded(t)
		g := s.Stage()
		var ids []oid.ID
		for _, size := range []int{10, 500, 5 << 20} {
			id, err := g.Put(t.Context(), oid.Blob, noise(r, size), oid.ID{})
			must(t, err)
			ids = append(ids, id)
		}
		must(t, g.Flush(t.Context()))
		for _, id := range ids {
			read(t, s, id)
			if !g.Has(id) {
				t.Errorf("%v is not known any more", id)
			}
		}
		if sweep {
			if _, err := s.Sweep(t.Context(), SweepOptions{Live: func(func(oid.ID)) error { return nil }, Grace: -1}); err != nil {
				t.Fatal(err)
			}
		}
		err := g.Commit(t.Context(), func(u *Update) error { return u.Table("records").Put([]byte("k"), ids[0].Bytes()) })
		if errors.Is(err, ErrSwept) != sweep || !sweep && err != nil {
			t.Errorf("swept %v: %v", sweep, err)
		}
	}
}

func TestAStageWhoseContentsASweepTookRecordsNothing(t *testing.T) {
	s, r := newStore(t), seeded(t)
	g := s.Stage()
	var last oid.ID
	for range 200 { // more than a stage keeps in memory
		id, err := g.Put(t.Context(), oid.Blob, noise(r, 100_000), oid.ID{})
		must(t, err)
		last = id
	}
	g.settle()
	report, err := s.Sweep(t.Context(), SweepOptions{Live: func(func(oid.ID)) error { return nil }, Grace: -1, Now: time.Now()})
	if err != nil || report.Bytes < loadBytes {
		t.Fatalf("%+v, %v: the stage had written nothing yet", report, err)
	}
	recorded := false
	err = g.Commit(t.Context(), func(u *Update) error {
		recorded = true
		return u.Table("records").Put([]byte("k"), last.Bytes())
	})
	if !errors.Is(err, ErrSwept) || recorded {
		t.Errorf("%v, recorded: %v", err, recorded)
	}
}

func TestWhatIsCompressedEarlyIsCommittedOrDiscarded(t *testing.T) {
	s, r := newStore(t), seeded(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	payloads := [][]byte{text(r, 5000), noise(r, 200<<10), text(r, 100), text(r, 3000)}
	for _, ctx := range []context.Context{ended, t.Context()} {
		g := s.Stage()
		ids := putAll(t, g, payloads[:3])
		g.Early(ctx)
		if len(g.batch.items) != 0 {
			t.Fatal("nothing was begun")
		}
		g.Early(ctx) // there is nothing more to begin
		if ctx == ended {
			if err := g.Commit(t.Context(), nil); !errors.Is(err, context.Canceled) {
				t.Errorf("of a stage whose contents were not compressed, Commit gives %v", err)
			}
			g.Discard()
			must(t, g.Commit(t.Context(), nil))
			if n := countRows(t, s); n != (census{}) {
				t.Errorf("of what was discarded is left: %+v", n)
			}
			continue
		}
		ids = append(ids, putAll(t, g, payloads[3:])...)
		must(t, g.Commit(t.Context(), nil))
		same(t, s, ids, payloads)
	}
}
