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

func TestAFailedWriteLeavesNothingVisible(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	old := [][]byte{text(r, 5000), noise(r, 200<<10), text(r, 100)}
	oldIDs := put(t, s, old...)
	for n := 1; ; n++ {
		if n > 200 {
			t.Fatal("a small transaction makes over 200 writes")
		}
		writes := failWrite(s, n)
		g := s.Stage()
		fresh := noise(r, 5000)
		id, err := g.Put(t.Context(), oid.Blob, fresh, oid.ID{})
		if err != nil {
			t.Fatal(err)
		}
		record := func(u *Update) error {
			return u.Table("t").Put([]byte("n"), []byte(strconv.Itoa(n)))
		}
		err = g.Commit(t.Context(), record)
		s.opened = nil
		passed := *writes < n
		if passed != (err == nil) || (err != nil && !errors.Is(err, syscall.ENOSPC)) {
			t.Fatalf("write %d of %d failed: Commit gives %v", n, *writes, err)
		}
		verr := s.View(t.Context(), func(v *View) error {
			value, _ := v.Table("t").Value([]byte("n"))
			if v.Has(id) != passed || (string(value) == strconv.Itoa(n)) != passed {
				t.Errorf("write %d failed: Has = %v, record %q", n, v.Has(id), value)
			}
			return nil
		})
		if verr != nil {
			t.Fatal(verr)
		}
		for i, id := range oldIDs {
			if !bytes.Equal(read(t, s, id), old[i]) {
				t.Fatalf("write %d failed: an old object changed", n)
			}
		}
		if passed {
			t.Logf("%d writes", *writes)
			break
		}
		if err := g.Commit(t.Context(), record); !errors.Is(err, syscall.ENOSPC) { // there is space again
			t.Fatalf("after write %d failed the stage can only be discarded, and gives %v", n, err)
		}
		put(t, s, fresh)
		if err := s.Update(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
}

// A full disk must not stay full of what could not be committed. A reader that has
// the file open meanwhile goes on reading, and a later commit finds its room again.
func TestAFailedCommitGivesItsSpaceBack(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	old := noise(r, 300<<10)
	id := put(t, s, old)[0]
	if !bytes.Equal(read(t, s, id), old) { // leaves an idle reader behind
		t.Fatal("what was put is not read")
	}
	var used int64
	if err := s.View(t.Context(), func(v *View) error { used = v.tx.Size(); return nil }); err != nil {
		t.Fatal(err)
	}
	fresh := noise(r, 3<<20)
	n := 0
	for passed := false; !passed; {
		n++
		writes := failWrite(s, n)
		g := s.Stage()
		if _, err := g.Put(t.Context(), oid.Blob, fresh, oid.ID{}); err != nil {
			t.Fatal(err)
		}
		err := g.Commit(t.Context(), nil)
		s.opened = nil
		if passed = *writes < n; passed != (err == nil) {
			t.Fatalf("write %d of %d failed: Commit gives %v", n, *writes, err)
		}
		if size, err := fileSize(s.Path()); err != nil || (!passed && runtime.GOOS != "windows" && size != used) {
			t.Fatalf("write %d failed: the file has %d bytes, and the last transaction needs %d (%v)", n, size, used, err)
		}
		if !bytes.Equal(read(t, s, id), old) {
			t.Fatalf("write %d failed: an old object changed", n)
		}
	}
	if n < 3 {
		t.Fatalf("only %d writes could fail", n-1)
	}
	if got := read(t, s, s.Algorithm().Sum(oid.Blob, fresh)); !bytes.Equal(got, fresh) {
		t.Error("what was committed in the end came back different")
	}
	if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
}

// A stage that flushes itself must not record when a flush has failed.
func TestAFailedFlushFailsTheCommit(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	failWrite(s, 20)
	g := s.Stage()
	var err error
	for i := 0; i < 400 && err == nil; i++ {
		_, err = g.Put(t.Context(), oid.Blob, noise(r, 100<<10), oid.ID{})
	}
	called := false
	cerr := g.Commit(t.Context(), func(*Update) error { called = true; return nil })
	if !errors.Is(cerr, syscall.ENOSPC) || called {
		t.Errorf("Commit gives %v, called %v", cerr, called)
	}
	s.opened = nil
	g.Discard()
	if _, err := g.Put(t.Context(), oid.Blob, []byte("x"), oid.ID{}); err != nil {
		t.Errorf("after Discard: %v", err)
	}
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Errorf("after Discard: %v", err)
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
		if err != nil {
			t.Fatal(err)
		}
		ids, all = append(ids, id), append(all, p)
	}
	g.settle()
	if n := countRows(t, s).frameBytes; n < loadBytes {
		t.Errorf("%d bytes are stored before Commit", n)
	}
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if !bytes.Equal(read(t, s, id), all[i]) {
			t.Fatalf("object %d came back different", i)
		}
	}
}
