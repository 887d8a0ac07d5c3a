package cas

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// readOne reads an object.
func readOne(t *testing.T, s *Store, id oid.ID) (p []byte, err error) {
	t.Helper()
	err = s.View(t.Context(), func(v *View) (err error) {
		_, p, err = v.Object(id)
		return err
	})
	return p, err
}

func TestWhatIsKeptDecodedIsDecodedOnce(t *testing.T) {
	s, r := newStore(t), seeded(t)
	payload := text(r, 20<<10)
	id := put(t, s, payload)[0]
	edited := putEdit(t, s, append(bytes.Clone(payload), "an edit\n"...), id)
	began := s.decoded.Load()
	first, second := s.KeepDecoded(), s.KeepDecoded()
	for range 3 {
		got, err := readOne(t, s, id)
		if err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		clear(got) // what a caller does with its bytes is nobody else's
	}
	if n := s.decoded.Load() - began; n != 1 {
		t.Errorf("%d frames were decoded, want 1", n)
	}
	if _, err := readOne(t, s, edited); err != nil || s.decoded.Load()-began != 2 {
		t.Errorf("of a delta and its base %d were decoded, %v; want the delta alone", s.decoded.Load()-began-1, err)
	}
	first()
	first() // does nothing
	if _, err := readOne(t, s, id); err != nil || s.decoded.Load()-began != 2 {
		t.Errorf("it was forgotten before all were done, %v", err)
	}
	second()
	if len(s.kept.kept) != 0 {
		t.Error("something stays in memory")
	}
	if _, err := readOne(t, s, id); err != nil || s.decoded.Load()-began != 3 {
		t.Errorf("it was not decoded again, %v", err)
	}
}

// Contents that share frames are read in an order in which no frame is among those that were decoded last.
func TestWhatSharesAFrameIsKeptDecodedToo(t *testing.T) {
	s, r := newStore(t), seeded(t)
	s.parts.group = 40_000
	var payloads [][]byte
	for range 4 * 3 * groupsKept {
		payloads = append(payloads, text(r, 9000))
	}
	ids := put(t, s, payloads...)
	defer s.KeepDecoded()()
	began, first := s.decoded.Load(), int64(0)
	for round := range 2 {
		for lap := range 4 {
			for i := lap; i < len(ids); i += 4 {
				if got, err := readOne(t, s, ids[i]); err != nil || !bytes.Equal(got, payloads[i]) {
					t.Fatalf("content %d: %d bytes, %v", i, len(got), err)
				}
			}
		}
		switch n := s.decoded.Load() - began; {
		case round == 0 && n < 2*3*groupsKept:
			t.Errorf("%d frames were decoded at first: this proves nothing", n)
		case round == 0:
			first = n
		case n != first:
			t.Errorf("%d frames were decoded again", n-first)
		}
	}
}

func TestADamagedFrameIsDamagedWhereItIsKeptDecoded(t *testing.T) {
	for _, beside := range []int{0, 1} { // contents in the same frame
		s, r := newStore(t), seeded(t)
		payloads := [][]byte{text(r, 20<<10)}
		for range beside {
			payloads = append(payloads, text(r, 20<<10))
		}
		id := put(t, s, payloads...)[0]
		defer s.KeepDecoded()()
		if _, err := readOne(t, s, id); err != nil || len(s.kept.kept) != 1 {
			t.Fatalf("%d are kept, %v", len(s.kept.kept), err)
		}
		alter(t, s, id, false)
		if _, err := readOne(t, s, id); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d beside it: Object gives %v", beside, err)
		}
		err := s.View(t.Context(), func(v *View) error { return v.ReadBack(id) })
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d beside it: ReadBack gives %v", beside, err)
		}
	}
}

func TestWhatIsKeptDecodedIsBounded(t *testing.T) {
	s, r := newStore(t), seeded(t)
	s.parts.group = 0
	var payloads [][]byte
	for range decodedBytes/wholeMax + 10 {
		payloads = append(payloads, noise(r, wholeMax))
	}
	ids := put(t, s, payloads...)
	defer s.KeepDecoded()()
	for range 2 {
		for i, id := range ids {
			if got, err := readOne(t, s, id); err != nil || !bytes.Equal(got, payloads[i]) {
				t.Fatalf("content %d: %v", i, err)
			}
		}
	}
	if n := s.kept.bytes; n == 0 || n > decodedBytes {
		t.Errorf("%d bytes are kept, at most %d may be", n, decodedBytes)
	}
	if n := int(s.decoded.Load()); n >= 2*len(ids) || n < len(ids) {
		t.Errorf("%d frames were decoded to read %d contents twice", n, len(ids))
	}
}

func TestWhatIsKeptDecodedIsBoundedWhereManyKeep(t *testing.T) {
	s := newStore(t)
	s.tools = &tools{}
	defer s.KeepDecoded()()
	raw := make([]byte, wholeMax)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range decodedBytes / wholeMax {
				id := s.meta.algorithm.Sum(oid.Blob, []byte{byte(n), byte(i)})
				s.kept.keep(&View{s: s}, id, object{}, []byte("a frame"), raw)
			}
		})
	}
	all.Wait()
	if n := s.kept.bytes; n != decodedBytes {
		t.Errorf("%d bytes are kept, and there is room for %d", n, decodedBytes)
	}
}

// What is put again as it is, or as an edit of it began, is found, and no delta of it
// is made from itself.
func TestTheSameAgainIsNotDecoded(t *testing.T) {
	s := newStore(t)
	payload := text(seeded(t), 20<<10)
	id := put(t, s, payload)[0]
	later := append(bytes.Clone(payload), "an edit\n"...)
	edited := putEdit(t, s, later, id)
	began := s.decoded.Load()
	putEdit(t, s, payload, id)
	putEdit(t, s, payload, edited)
	putEdit(t, s, later, edited)
	if n := s.decoded.Load() - began; n != 0 {
		t.Errorf("%d frames were decoded", n)
	}
	for id, want := range map[oid.ID][]byte{id: payload, edited: later} {
		if got, err := readOne(t, s, id); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes, %v", id, len(got), err)
		}
	}
}
