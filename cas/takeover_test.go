package cas

import (
	"context"
	"errors"
	"io"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A large stage has placed deltas. The row of their base is damaged; another stage
// begins to take over and is killed after its first transaction; the base is recorded
// again. What the first stage then acknowledges can be read.
func TestAnOwnerNoticesThatATakeOverThatWasKilledHasTakenItsFrames(t *testing.T) {
	s, r := newStore(t), seeded(t)
	base := text(r, 20<<10)
	id := put(t, s, base)[0]
	s.parts = few
	var ids []oid.ID
	g := s.Stage()
	for range 20 {
		n, err := g.Put(t.Context(), oid.Blob, append(noise(r, 10), base...), id)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, n)
	}
	g.settle()
	damageRow(t, s, base)
	h, err := Open(t.Context(), s.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.parts = few
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	h.opened = func(*bolt.DB) {
		if opened++; opened == 4 {
			cancel()
		}
	}
	if err := h.indexSpilled(ctx); err == nil {
		t.Fatal("not killed")
	}
	small, err := Open(t.Context(), s.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, small, base) // heals
	if err := g.Commit(t.Context(), nil); err != nil {
		if !errors.Is(err, ErrSwept) {
			t.Error(err)
		}
		return
	}
	for i, n := range ids {
		if _, err := s.WriteTo(t.Context(), io.Discard, n); err != nil {
			t.Errorf("%d was acknowledged: %v", i, err)
		}
	}
}
