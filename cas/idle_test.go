package cas

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// reopenings counts how often a store opens its file.
func reopenings(s *Store) *int {
	n := new(int)
	s.opened = func(*bolt.DB) { *n++ }
	return n
}

// content reads an object and compares it.
func content(t *testing.T, s *Store, id oid.ID, want []byte) {
	t.Helper()
	err := s.View(t.Context(), func(v *View) error {
		_, got, err := v.Object(id)
		if err == nil && !bytes.Equal(got, want) {
			t.Error("another content")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestManyReadsOpenTheFileOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: on Windows no file is kept open")
	}
	s := newStore(t)
	id := put(t, s, []byte("one"))[0]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	n := reopenings(s)
	for range 20 {
		content(t, s, id, []byte("one"))
	}
	if *n != 1 {
		t.Errorf("the file was opened %d times", *n)
	}
}

func TestAReaderSeesWhatOthersWroteMeanwhile(t *testing.T) {
	s := newStore(t)
	first := put(t, s, []byte("one"))[0]
	other, err := Open(t.Context(), s.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r := seeded(t)
	for range 6 { // the file grows beyond what is mapped, several times
		content(t, s, first, []byte("one"))
		want := noise(r, 1<<20)
		content(t, s, put(t, other, want)[0], want)
	}
	if _, _, err := other.Compact(t.Context()); err != nil { // another file takes its place
		t.Fatal(err)
	}
	want := noise(r, 1<<10)
	content(t, s, put(t, other, want)[0], want)
	content(t, s, first, []byte("one"))
}

func TestAFileThatIsShortenedBetweenReadsIsDamaged(t *testing.T) {
	s := newStore(t)
	id := put(t, s, noise(seeded(t), 1<<20))[0]
	read := func() error {
		return s.View(t.Context(), func(v *View) error { _, _, err := v.Object(id); return err })
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(s.Path(), 3*pageSize); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := read(); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v", err)
		}
	}
}

func TestACloseLetsGoOfTheFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: counts the files that Linux says are open")
	}
	s := newStore(t)
	id := put(t, s, []byte("one"))[0]
	content(t, s, id, []byte("one"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := holding(t, s.Path()); n != 0 {
		t.Errorf("the store's file is still open %d times", n)
	}
	content(t, s, id, []byte("one"))
}

func TestTheNextReaderLetsGoOfAllOfAFileThatWasReplaced(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: counts the files that Linux says are open")
	}
	s := newStore(t)
	id := put(t, s, []byte("one"))[0]
	var all, readers sync.WaitGroup
	all.Add(readersMax)
	for range readersMax {
		readers.Go(func() {
			here := sync.OnceFunc(all.Done)
			defer here()
			err := s.View(t.Context(), func(*View) error {
				here()
				all.Wait() // each has a file of its own
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	if n := holding(t, s.Path()); n != readersMax+1 { // the writer's too
		t.Fatalf("%d files are kept", n)
	}
	other, err := Open(t.Context(), s.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, _, err := other.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	content(t, s, id, []byte("one"))
	if n := holding(t, s.Path()+" (deleted)"); n != 0 {
		t.Errorf("the file that was replaced is still open %d times", n)
	}
}

// holding counts the descriptors of this process that lead to a path.
func holding(t *testing.T, path string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range list {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}
