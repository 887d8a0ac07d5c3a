package cas

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A delta lies where its base does: that one's frame is what has to be decoded.
func TestADeltaLiesBesideItsBaseAndWhatIsNowhereComesFirst(t *testing.T) {
	s, ids, payloads := sharing(t, 100)
	list := slices.Clone(ids)
	for i := len(ids) - 1; i >= 0; i-- {
		list = append(list, putEdit(t, s, append(bytes.Clone(payloads[i]), "an edit\n"...), ids[i]))
	}
	none := s.meta.algorithm.Sum(oid.Blob, []byte("nowhere"))
	list = append(list, none, none)
	order, _, err := s.Nearby(t.Context(), list)
	must(t, err)
	if order[0] != 200 || order[1] != 201 {
		t.Errorf("what is nowhere does not come first: %v", order[:4])
	}
	for n := 2; n < len(order); n += 2 {
		if one, edited := order[n], order[n+1]; one >= 100 || edited != 199-one {
			t.Fatalf("content %d has %d beside it, not its edit %d", one, edited, 199-one)
		}
	}
}

// A place is a hint of another time: the frame may have gone since, and its number may be
// another's in a file that was put back.
func TestAPlaceThatLeadsElsewhereGivesNoOtherBytes(t *testing.T) {
	s, ids, payloads := sharing(t, 100)
	list := append(slices.Clone(ids), put(t, s, noise(seeded(t), 300<<10))...) // cut into chunks: it has none
	_, places, err := s.Nearby(t.Context(), list)
	must(t, err)
	if places[0].Size() != int64(len(payloads[0])) || places[100].Size() != -1 {
		t.Errorf("the sizes are %d and %d", places[0].Size(), places[100].Size())
	}
	gone := places[0]
	gone.seq += 1 << 40
	err = s.View(t.Context(), func(v *View) error {
		for i, id := range ids {
			for _, at := range []Place{places[i], places[(i+1)%100], gone, {}} {
				kind, got, err := v.ObjectAt(id, at, nil)
				if err != nil || kind != oid.Blob || !bytes.Equal(got, payloads[i]) {
					t.Errorf("content %d: %d bytes of kind %v, %v", i, len(got), kind, err)
				}
			}
		}
		none := s.meta.algorithm.Sum(oid.Blob, []byte("nowhere"))
		if _, _, err := v.ObjectAt(none, places[0], nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("what is nowhere: %v", err)
		}
		return nil
	})
	must(t, err)
}

func TestAFrameWhoseMemoryIsUsedAgainDoesNotChangeWhatOthersRead(t *testing.T) {
	s, ids, payloads := sharing(t, 400)
	s.tools = &tools{}
	var wg sync.WaitGroup
	for n := range 8 {
		r := rand.New(rand.NewPCG(uint64(n), 0))
		wg.Go(func() {
			for range 300 {
				i := r.IntN(len(ids))
				got, err := readOne(t, s, ids[i])
				if err != nil || !bytes.Equal(got, payloads[i]) {
					t.Errorf("content %d: %d bytes, %v", i, len(got), err)
					return
				}
				clear(got)
			}
		})
	}
	wg.Wait()
	if len(s.groups.list) != groupsKept || len(s.groups.free) > groupsFree {
		t.Errorf("%d frames are kept, and memory for %d", len(s.groups.list), len(s.groups.free))
	}
}

// A frame is found once for what is read one after another, also where that changes between frames.
func TestWhatIsReadInOneViewIsReleased(t *testing.T) {
	s, ids, payloads := sharing(t, 100)
	s.tools = &tools{}
	_, places, err := s.Nearby(t.Context(), ids)
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	must(t, s.View(t.Context(), func(v *View) error {
		buf := make([]byte, 0, 64<<10)
		for range 300 {
			i := r.IntN(len(ids))
			_, got, err := v.ObjectAt(ids[i], places[i], buf)
			if err != nil || !bytes.Equal(got, payloads[i]) || cap(got) != len(got) {
				t.Fatalf("content %d: %d bytes of %d, %v", i, len(got), cap(got), err)
			}
		}
		return nil
	}))
	for _, g := range s.groups.list {
		if g.readers != 0 {
			t.Errorf("a frame has %d readers", g.readers)
		}
	}
}
