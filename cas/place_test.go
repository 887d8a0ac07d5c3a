package cas

import (
	"bytes"
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
	order, err := s.Nearby(t.Context(), list)
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
