package apply

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// To open a directory from the root costs its depth, and a plan may have
// thousands of directories, each in the one before. Of very deep ones some
// handles are therefore kept for a few steps, and those below are opened from
// there.
//
// A handle leads where the path led when it was opened, though somebody may
// have moved the directory since. So it serves few steps, all of one kind, and
// only below so many levels as hardly any tree has.
const (
	levelsBetween = 64 // directories at multiples of it are kept
	baseUses      = 64 // steps that one handle serves
	basesMax      = 16 // handles at a time: a path of 16 KiB names at most 128 such directories, one after the other
)

// A base is an open directory far below the root.
type base struct {
	dir  *dirfd.Dir
	uses int
	held int  // goroutines that open something in it
	over bool // not in the map any more: the last holder closes it
}

// openDir opens a directory for one step.
func (a *applier) openDir(dir string) (*dirfd.Dir, error) {
	if dir == "" {
		return a.root, nil
	}
	above, rest := parted(dir)
	if above == "" {
		a.walked.Add(int64(levels(dir)))
		return a.root.OpenDir(dir)
	}
	b, err := a.hold(above)
	if err != nil {
		return nil, err
	}
	defer a.letGo(b)
	a.walked.Add(int64(levels(rest)))
	d, err := b.dir.OpenDir(rest)
	if errors.Is(err, syscall.EMFILE) { // better slow than not at all
		a.forget()
		d, err = a.root.OpenDir(dir)
	}
	return d, err
}

// parted divides the path of a directory at the last place before its end where
// a handle is kept; above is empty if there is none.
func parted(dir string) (above, rest string) {
	count, cut := 0, -1
	for i := range len(dir) {
		if dir[i] == '/' {
			if count++; count%levelsBetween == 0 {
				cut = i
			}
		}
	}
	if cut < 0 {
		return "", dir
	}
	return dir[:cut], dir[cut+1:]
}

func levels(dir string) int { return strings.Count(dir, "/") + 1 }

// hold returns the handle of a directory at which one is kept. It is opened
// from the one above it.
func (a *applier) hold(dir string) (*base, error) {
	a.baseMu.Lock()
	b := a.bases[dir]
	if b != nil && b.uses < baseUses {
		b.uses++
		b.held++
		a.baseMu.Unlock()
		return b, nil
	}
	a.baseMu.Unlock()
	d, err := a.openDir(dir)
	if err != nil {
		return nil, err
	}
	a.baseMu.Lock()
	defer a.baseMu.Unlock()
	if old := a.bases[dir]; old != nil {
		a.retire(dir, old)
	}
	if len(a.bases) >= basesMax { // the shallowest is the cheapest to open again
		least := slices.MinFunc(slices.Collect(maps.Keys(a.bases)), func(a, b string) int { return len(a) - len(b) })
		a.retire(least, a.bases[least])
	}
	b = &base{dir: d, uses: 1, held: 1}
	a.bases[dir] = b
	return b, nil
}

func (a *applier) letGo(b *base) {
	a.baseMu.Lock()
	defer a.baseMu.Unlock()
	if b.held--; b.over && b.held == 0 {
		b.dir.Close()
	}
}

// retire takes a handle out of use; the caller has the lock.
func (a *applier) retire(dir string, b *base) {
	delete(a.bases, dir)
	if b.over = true; b.held == 0 {
		b.dir.Close()
	}
}

// forget takes all handles out of use: what comes next is of another kind, and
// may need other directories under the same paths.
func (a *applier) forget() {
	a.baseMu.Lock()
	defer a.baseMu.Unlock()
	for dir, b := range a.bases {
		a.retire(dir, b)
	}
}

// close ends the use of the worktree.
func (a *applier) close() {
	a.forget()
	a.root.Close()
}
