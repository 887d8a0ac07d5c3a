package apply

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// What is thrown away is read between two looks. That somebody touched it before the first
// read, or that a file system tells late of its times, is no reason to leave it; that it is
// another file by now, or that its size says nothing of its bytes, is one.
func TestAFileIsReadBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := t.TempDir()
	dir, err := dirfd.Open(path)
	must(0, err)
	defer dir.Close()
	write := func(name, text string) dirfd.Stat {
		must(0, os.WriteFile(filepath.Join(path, name), []byte(text), 0o644))
		st, err := dir.Lstat(name)
		must(0, err)
		return st
	}
	want := func(what, name string, st dirfd.Stat, text string) {
		t.Helper()
		got, err := idAt(oid.SHA1, dir, name, st)
		must(0, err)
		if want := oid.SHA1.Sum(oid.Blob, []byte(text)); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	st := write("f", "some text")
	want("as it was seen", "f", st, "some text")
	must(0, os.Chtimes(filepath.Join(path, "f"), time.Time{}, time.Unix(1, 0)))
	want("touched since", "f", st, "some text")
	want("seen with another length", "f", write("f", "longer than it was"), "longer than it was")
	st.Size = 3
	want("its size told late", "f", st, "longer than it was")
	want("empty", "e", write("e", ""), "")

	st = write("g", "one")
	write("h", "one")
	must(0, os.Rename(filepath.Join(path, "h"), filepath.Join(path, "g")))
	if got, err := idAt(oid.SHA1, dir, "g", st); err != nil || !got.IsZero() {
		t.Errorf("another file with the same bytes: %v, %v", got, err)
	}
	self, err := dirfd.Open("/proc/self")
	must(0, err)
	defer self.Close()
	st, err = self.Lstat("status")
	must(0, err)
	if got, err := idAt(oid.SHA1, self, "status", st); err != nil || !got.IsZero() {
		t.Errorf("a file with bytes and a size of 0: %v, %v", got, err)
	}
}
