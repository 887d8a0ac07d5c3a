package watched_test

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// seenByScans compares a watched scan with a full one.
func (w *world) seenByScans(when string) {
	w.t.Helper()
	if only, why := w.tree.State(); !only {
		w.t.Fatalf("%s: it is not watched: %s", when, why)
	}
	if got, want := w.scans.watched(&w.tree.Tree), w.scans.full(); got.Tree != want.Tree {
		w.t.Errorf("%s: the watched scan missed it", when)
	}
}

// Nothing is told of a store, and the first one since the page was written back alone
// moves the times.
func TestStoresToAFileThatWasMetMappedAreSeenUntilTheMappingEnds(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.scans = newScans(w)
	path := w.file("d/f", "one")
	w.arm()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	w.must(err)
	page, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	w.must(err)
	defer unix.Munmap(page)
	w.must(f.Close())
	store := func(c byte) {
		time.Sleep(20 * time.Millisecond) // the clock that stamps files stands still for a while
		page[0] = c
	}
	w.must(os.Chmod(path, 0o600)) // which is told, so that the file is met
	store('1')
	w.seenByScans("the first store")
	store('2')
	w.seenByScans("a store that moves no time")
	w.scans.ahead = time.Hour
	w.scans.watched(&w.tree.Tree)
	w.must(unix.Msync(page, unix.MS_SYNC))
	store('3')
	w.seenByScans("a store to a file that was believed by its age")
}
