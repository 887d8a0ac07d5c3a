//go:build linux

package watch

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Two processes rename at once, and the kernel tells of one in the middle of the other.
func TestRenamesThatAreToldWithinOneAnotherAreKeptApart(t *testing.T) {
	_, w := watching(t, "a")
	w.mu.Lock()
	wd := w.byDir["a"]
	tell := func(bits, pair uint32, name string) {
		p := binary.NativeEndian.AppendUint32(nil, uint32(wd))
		p = binary.NativeEndian.AppendUint32(p, bits)
		p = binary.NativeEndian.AppendUint32(p, pair)
		p = binary.NativeEndian.AppendUint32(p, 16)
		must(t, w.handle(append(p, append([]byte(name), make([]byte, 16-len(name))...)...)))
	}
	tell(unix.IN_MODIFY, 0, "f")
	tell(unix.IN_MODIFY, 0, "g")
	tell(unix.IN_MOVED_FROM, 1, "f")
	tell(unix.IN_MOVED_FROM, 2, "g")
	tell(unix.IN_MOVED_TO, 1, "f2")
	tell(unix.IN_MOVED_TO, 2, "g2")
	left := len(w.moved)
	w.mu.Unlock()
	take(t, w)
	want(t, w, "a/f2", "a/g2")
	if left > 0 {
		t.Errorf("%d renames that were told are kept", left)
	}
}

// It is told under the directory's old path until the new one is watched.
func TestAFileThatWasWrittenAfterItsDirectoryMovedStaysUnderTheNewPath(t *testing.T) {
	root, w := watching(t, "a")
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "b")))
	f, err := os.Create(filepath.Join(root, "b/f"))
	must(t, err)
	defer f.Close()
	_, err = f.Write([]byte("1"))
	must(t, err)
	take(t, w)
	must(t, w.Add("b"))
	w.Remove("a")
	take(t, w)
	if got := take(t, w); !told(got, "b/f") {
		t.Errorf("%+v", got)
	}
}

// Somebody else may know that a file is open for writing, of which nothing was told.
func TestAFileThatIsSaidToBeOpenStaysUntilItIsClosed(t *testing.T) {
	root, w := watching(t, "a")
	path := filepath.Join(root, "a/f")
	write(t, path, "1")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	take(t, w)
	w.Open("a/f")
	for range 2 {
		want(t, w, "a/f")
	}
	must(t, f.Close())
	want(t, w, "a/f")
	if got := take(t, w); got.Len() != 0 {
		t.Errorf("it is closed, and %+v told", got)
	}
}
