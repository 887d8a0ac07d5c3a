package cas

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// writeAt is what bbolt writes with: a function value that it keeps for such
// tests, but out of reach of other packages.
func writeAt(db *bolt.DB) *func([]byte, int64) (int, error) {
	field := reflect.ValueOf(db).Elem().FieldByName("ops").FieldByName("writeAt")
	return (*func([]byte, int64) (int, error))(unsafe.Pointer(field.UnsafeAddr()))
}

// failWrite makes the n-th write of the next transactions fail as a full disk
// does, half of it having been written.
func failWrite(s *Store, n int) (writes *int) {
	writes = new(int)
	s.opened = func(db *bolt.DB) {
		real := *writeAt(db)
		*writeAt(db) = func(p []byte, at int64) (int, error) {
			if *writes++; *writes >= n {
				k, _ := real(p[:len(p)/2], at)
				return k, &os.PathError{Op: "write", Path: s.path, Err: syscall.ENOSPC}
			}
			return real(p, at)
		}
	}
	return writes
}

// Whichever write of a transaction fails, nothing of it is visible, what was there is as
// it was, and a full disk does not stay full of what could not be committed; also where
// the file was kept open by a writer, or a reader has it open. A later commit finds its
// room again.
func TestAFailedWriteLeavesNothing(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		s, r := newStore(t), seeded(t)
		old := [][]byte{text(r, 5000), noise(r, 200<<10), text(r, 100)}
		ids := put(t, s, old...)
		for n := 1; ; n++ {
			if n > 200 {
				t.Fatal("a small transaction makes over 200 writes")
			}
			same(t, s, ids, old) // leaves an idle reader behind
			used, writes := int64(0), failWrite(s, n)
			must(t, s.View(t.Context(), func(v *View) error { used = v.tx.Size(); return nil }))
			if db := kept(t, s); keeps && db != nil {
				s.opened(db)
				s.opened = nil
			}
			before, err := os.ReadFile(s.Path())
			must(t, err)
			fresh := [][]byte{noise(r, 5000), noise(r, 2<<20)}
			g := s.Stage()
			newIDs := putAll(t, g, fresh)
			record := func(u *Update) error { return u.Table("t").Put([]byte("n"), []byte(strconv.Itoa(n))) }
			err = g.Commit(t.Context(), record)
			s.opened = nil
			passed := *writes < n
			if passed != (err == nil) || err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("write %d of %d failed: Commit gives %v", n, *writes, err)
			}
			must(t, s.View(t.Context(), func(v *View) error {
				value, _ := v.Table("t").Value([]byte("n"))
				if v.Has(newIDs[0]) != passed || (string(value) == strconv.Itoa(n)) != passed {
					t.Errorf("write %d failed: Has = %v, record %q", n, v.Has(newIDs[0]), value)
				}
				return nil
			}))
			if passed {
				if n < 3 {
					t.Errorf("only %d writes could fail", n-1)
				}
				same(t, s, newIDs, fresh)
				break
			}
			after, err := os.ReadFile(s.Path())
			must(t, err)
			if runtime.GOOS != "windows" && (int64(len(after)) != used || !bytes.Equal(after[:2*pageSize], before[:2*pageSize])) {
				t.Fatalf("write %d failed: the file has %d of %d bytes, or another header", n, len(after), used)
			}
			if err := g.Commit(t.Context(), record); !errors.Is(err, syscall.ENOSPC) { // there is space again
				t.Fatalf("after write %d failed the stage can only be discarded, and gives %v", n, err)
			}
			if keeps {
				must(t, s.Update(t.Context(), func(u *Update) error { return u.Table("t").Put([]byte("k"), nil) })) // leaves a file
			}
		}
		undamaged(t, s)
	}
}

func TestACancelledStageCannotBeCommitted(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	g := s.Stage()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		_, err = g.Put(ctx, oid.Blob, noise(r, 50<<10), oid.ID{})
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Put gives %v", err)
	}
	if err := g.Commit(t.Context(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit gives %v: payloads were dropped", err)
	}
}

func TestALargeStageFlushesItself(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	g := s.Stage()
	var ids []oid.ID
	var all [][]byte
	for i := range 30 {
		p := noise(r, 100<<10+i)
		if i == 10 {
			p = noise(r, 30<<20)
		}
		id, err := g.Put(t.Context(), oid.Blob, p, oid.ID{})
		must(t, err)
		ids, all = append(ids, id), append(all, p)
	}
	g.settle()
	if n := countRows(t, s).frameBytes; n < loadBytes {
		t.Errorf("%d bytes are stored before Commit", n)
	}
	must(t, g.Commit(t.Context(), nil))
	for i, id := range ids {
		if !bytes.Equal(read(t, s, id), all[i]) {
			t.Fatalf("object %d came back different", i)
		}
	}
}

// A large stage has filled the disk and was killed. There is no room for the rows of what
// it has left; a sweep frees it all the same.
func TestASweepFreesAFullDiskOfWhatALargeStageHasLeft(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the disk is full where bbolt lengthens the file, and on Windows mapping does that")
	}
	s := newStore(t)
	s.parts.group = 0
	putAll(t, s.Stage(), noises(t, 40_000))
	must(t, s.Close())
	s = again(t, s)
	st, err := os.Stat(s.Path())
	must(t, err)
	full := 0
	s.opened = func(db *bolt.DB) {
		real := *writeAt(db)
		*writeAt(db) = func(p []byte, at int64) (int, error) {
			if at+int64(len(p)) > st.Size() {
				full++
				return 0, &os.PathError{Op: "write", Path: s.path, Err: syscall.ENOSPC}
			}
			return real(p, at)
		}
	}
	report, err := s.Sweep(t.Context(), SweepOptions{Live: keep(), Grace: -1})
	if err != nil || full == 0 || report.Chunks < 20_000 {
		t.Errorf("%d writes met the full disk; the sweep removed %d frames, error %v", full, report.Chunks, err)
	}
	s.opened = nil
	sound(t, s, 0)
}
