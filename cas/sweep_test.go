package cas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func keep(ids ...oid.ID) func(func(oid.ID)) error {
	return func(mark func(oid.ID)) error {
		for _, id := range ids {
			mark(id)
		}
		return nil
	}
}

func has(t testing.TB, s *Store, id oid.ID) (is bool) {
	t.Helper()
	err := s.View(t.Context(), func(v *View) error { is = v.Has(id); return nil })
	must(t, err)
	return is
}

// later moves the store's clock.
func later(s *Store, d time.Duration) { s.now = func() time.Time { return time.Now().Add(d) } }

func TestCompactShrinksTheFileAndWaitersUseTheNewOne(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	var payloads [][]byte
	for range 300 {
		payloads = append(payloads, noise(r, 20000))
	}
	ids := put(t, s, payloads...)
	if _, err := s.Sweep(t.Context(), SweepOptions{Live: keep(ids[:20]...), Grace: -1}); err != nil {
		t.Fatal(err)
	}
	old, err := os.Stat(s.Path())
	must(t, err)
	var wg sync.WaitGroup
	var added [20][]oid.ID
	for i := range added {
		wg.Go(func() { added[i] = put(t, s, noise(r, 0), []byte{byte(i)}) })
	}
	var before, after int64
	wg.Go(func() {
		var err error
		if before, after, err = s.Compact(t.Context()); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	now, err := os.Stat(s.Path())
	must(t, err)
	same := os.SameFile(old, now) && runtime.GOOS != "windows" // there it looks at the path only now, for both
	if after > before/4 || same {
		t.Errorf("%d bytes became %d", before, after)
	}
	for i, id := range ids[:20] {
		if !bytes.Equal(read(t, s, id), payloads[i]) {
			t.Error("a live object changed")
		}
	}
	for i, ids := range added {
		if len(ids) != 2 || !bytes.Equal(read(t, s, ids[1]), []byte{byte(i)}) {
			t.Errorf("what was written beside Compact is lost: %d", i)
		}
	}
	left, err := os.ReadDir(s.Path()[:len(s.Path())-len("/store.db")])
	if err != nil || len(left) != 2 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// TestASweepEndsHoweverMuchIsWritten records something new each time that it
// looks for what is alive.
func TestASweepEndsHoweverMuchIsWritten(t *testing.T) {
	for _, compact := range []bool{false, true} {
		s := newStore(t)
		old := put(t, s, []byte("live"), []byte("dead"), []byte("found again"))
		looked := 0
		opt := SweepOptions{
			Grace: -1,
			Live: func(mark func(oid.ID)) error {
				mark(old[0])
				looked++
				put(t, s, []byte("new"))
				if compact {
					_, _, err := s.Compact(t.Context())
					return err
				}
				return nil
			},
			Rest: func(v *View, mark func(oid.ID)) error {
				if id := s.Algorithm().Sum(oid.Blob, []byte("new")); v.Has(id) {
					mark(id)
				}
				mark(old[2])
				return nil
			},
		}
		report, err := s.Sweep(t.Context(), opt)
		if err != nil || looked != 1 || report.Objects != 1 {
			t.Fatalf("%+v, %v, looked %d times", report, err, looked)
		}
		for id, want := range map[oid.ID]bool{old[0]: true, old[1]: false, old[2]: true, s.Algorithm().Sum(oid.Blob, []byte("new")): true} {
			if has(t, s, id) != want {
				t.Errorf("%v: Has = %v", id, !want)
			}
		}
	}
}

// TestWhatASweepSaysIsGoneIsGoneBesideAFlippedKey flips a bit in each key of the pages by
// which rows are found. A sweep then may not find what it is to remove, and must say so.
func TestWhatASweepSaysIsGoneIsGoneBesideAFlippedKey(t *testing.T) {
	sm := newSample(t)
	refused, done := 0, 0
	for _, at := range branchKeys(sm.file) {
		for _, bit := range []byte{0x80, 0x01} {
			file := bytes.Clone(sm.file)
			file[at] ^= bit
			path := filepath.Join(t.TempDir(), "store.db")
			must(t, os.WriteFile(path, file, 0o600))
			s, err := Open(t.Context(), path, nil)
			if err != nil {
				continue // the damage is in what opening reads
			}
			_, err = s.Sweep(t.Context(), SweepOptions{Live: keep(), Grace: -1})
			if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrBroken) {
				refused++
				continue
			}
			must(t, err)
			done++
			if left := rows(t, s); left > 0 {
				t.Errorf("a sweep of everything with byte %d changed by %#x says nothing, and %d rows are there", at, bit, left)
			}
		}
	}
	if refused < 5 || done < 5 {
		t.Errorf("%d refused, %d done: the test is not whole", refused, done)
	}
}

// rows counts what an iteration over the objects, chunks and frames meets.
func rows(t *testing.T, s *Store) (n int) {
	t.Helper()
	err := s.View(t.Context(), func(v *View) error {
		for _, b := range []*bolt.Bucket{v.objects, v.data} {
			if err := b.ForEach(func(_, _ []byte) error { n++; return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	return n
}

// branchKeys are the places in a file of the first bytes of keys in branch pages: a page
// has a header of 16 bytes, with its kind at 8 and its number of elements at 10, then
// an element of 16 bytes for each key, which begins with the place of the key from there
// and its length.
func branchKeys(file []byte) (places []int) {
	le := binary.LittleEndian
	for page := 0; page < len(file); page += pageSize {
		if le.Uint16(file[page+8:]) != 1 {
			continue
		}
		for i := range int(le.Uint16(file[page+10:])) {
			element := page + 16 + 16*i
			place := element + int(le.Uint32(file[element:]))
			places = append(places, place, place+int(le.Uint32(file[element+4:]))-1)
		}
	}
	return places
}

func TestASweepThatMeetsALostListOfChunksSaysThatTheStoreIsDamaged(t *testing.T) {
	s := newStore(t)
	id := put(t, s, noise(seeded(t), wholeMax+40000))[0]
	must(t, s.Update(t.Context(), func(u *Update) error {
		o, err := u.object(id)
		must(t, err)
		return u.objects.Delete(o.ref.Bytes())
	}))
	_, err := s.Sweep(t.Context(), SweepOptions{Live: keep(id), Grace: -1})
	if !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
		t.Errorf("the sweep gives %v", err)
	}
}
