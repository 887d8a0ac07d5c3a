package cas

import (
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Rows that were packed are all there, once, and leave little of their pages empty.
func TestRowsArePackedToFillPages(t *testing.T) {
	r := seeded(t)
	for range 50 {
		var in []*frame
		for range r.IntN(600) {
			in = append(in, &frame{row: make([]byte, smallRow+1+r.IntN(40000))})
		}
		for range r.IntN(20) {
			in = append(in, &frame{row: make([]byte, 1+r.IntN(smallRow))})
		}
		r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		out := binPack(slices.Clone(in))
		met := map[*frame]bool{}
		for _, c := range out {
			met[c] = true
		}
		if len(out) != len(in) || len(met) != len(in) || slices.ContainsFunc(in, func(c *frame) bool { return !met[c] }) {
			t.Fatalf("%d rows, %d different ones, of %d", len(out), len(met), len(in))
		}
		first := slices.IndexFunc(out, func(c *frame) bool { return len(c.row) > smallRow })
		empty, pairs := 0, (len(out)-first)/2
		if first < 0 || pairs < 100 {
			continue
		}
		for i := range pairs {
			empty += unfilled(len(out[first+2*i].row) + len(out[first+2*i+1].row))
		}
		if empty/pairs > pageSize/4 { // by chance it is half a page
			t.Errorf("%d pairs leave %d bytes each", pairs, empty/pairs)
		}
	}
}

// What binPack knows of bbolt's pages is so: nearly all that the bucket data
// takes up is frames.
func TestTheFramesFillTheirPages(t *testing.T) {
	s, r := newStore(t), seeded(t)
	g := s.Stage()
	for range 3000 { // several loads
		_, err := g.Put(t.Context(), oid.Blob, noise(r, r.IntN(20000)), oid.ID{})
		must(t, err)
	}
	must(t, g.Commit(t.Context(), nil))
	err := s.transact(t.Context(), durable.Shared, func(f *file) error {
		b := f.tx.Bucket(dataBucket)
		st, frames := b.Stats(), 0
		err := b.ForEach(func(_, p []byte) error { frames += len(p); return nil })
		if pages := st.LeafAlloc + st.BranchAlloc; pages > frames+frames/33 {
			t.Errorf("%d bytes of pages hold %d of frames", pages, frames)
		}
		return err
	})
	must(t, err)
	undamaged(t, s)
}
