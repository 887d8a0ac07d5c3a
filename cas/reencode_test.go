package cas

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// edits puts a text and n edits of it, each a delta, and returns all contents.
func edits(t *testing.T, s *Store, n int) (texts [][]byte, ids []oid.ID) {
	t.Helper()
	texts = append(texts, text(seeded(t), 20<<10))
	ids = put(t, s, texts[0])
	for i := range n {
		texts = append(texts, append([]byte{'0' + byte(i), '\n'}, texts[0]...))
		id := putEdit(t, s, texts[i+1], ids[0])
		ids = append(ids, id)
	}
	if n, of := deltas(t, s); n != len(ids)-1 || of != 1 {
		t.Fatalf("%d deltas of %d bases: this test proves nothing", n, of)
	}
	return texts, ids
}

// deltas counts the deltas in a store, and their bases.
func deltas(t *testing.T, s *Store) (n, of int) {
	t.Helper()
	bases := map[oid.ID]bool{}
	must(t, s.View(t.Context(), func(v *View) error {
		return v.eachObject(func(_ []byte, o object) error {
			if o.form == delta {
				n++
				bases[o.ref] = true
			}
			return nil
		})
	}))
	return n, len(bases)
}

func TestASweepWithoutGraceLeavesNoBaseThatOnlyDeltasNeed(t *testing.T) {
	s := newStore(t)
	texts, ids := edits(t, s, 4)
	dry, err := s.Sweep(t.Context(), SweepOptions{Live: keep(ids[2], ids[3], ids[4]), Grace: -1, DryRun: true})
	if err != nil || dry.Objects != 2 || dry.Chunks != 2 {
		t.Errorf("%+v, %v", dry, err)
	}
	if _, err := s.Sweep(t.Context(), SweepOptions{Live: keep(ids[2], ids[3], ids[4]), Grace: -1}); err != nil {
		t.Fatal(err)
	}
	for _, gone := range ids[:2] {
		if err := s.View(t.Context(), func(v *View) error { _, err := v.chunk(gone, nil); return err }); err == nil {
			t.Error("a content that nothing live needs can be read")
		}
	}
	for i, id := range ids[2:] {
		if !bytes.Equal(read(t, s, id), texts[2+i]) {
			t.Errorf("content %d is another", 2+i)
		}
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Objects != 3 {
		t.Errorf("%+v, %v", st, err)
	}
	if n, of := deltas(t, s); n != 2 || of != 1 {
		t.Errorf("%d deltas of %d bases: what is alike is stored more than once", n, of)
	}
	undamaged(t, s)
	if _, err := s.Sweep(t.Context(), SweepOptions{Live: keep(), Grace: -1}); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Objects != 0 {
		t.Errorf("%+v is left, %v", st, err)
	}
}

func TestADeltaThatCannotBeDecodedEndsASweepBeforeItsBaseIsGone(t *testing.T) {
	for _, of := range []int{0, 1} { // the base is damaged, or the delta
		s := newStore(t)
		_, ids := edits(t, s, 2)
		alter(t, s, ids[of], false)
		report, err := s.Sweep(t.Context(), SweepOptions{Live: keep(ids[1:]...), Grace: -1})
		if !errors.Is(err, ErrCorrupt) || report != (SweepReport{}) {
			t.Errorf("damage of content %d: %+v, %v", of, report, err)
		}
		if st, err := s.Stats(t.Context()); err != nil || st.Objects != 3 {
			t.Errorf("damage of content %d: %+v, %v", of, st, err)
		}
	}
}
