package apply

import (
	"errors"
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
	keptUses      = 64 // how often they are opened from, before all are opened anew
	keptMax       = 16 // handles at a time
)

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
	d, err := a.openBelow(above, rest)
	if errors.Is(err, syscall.EMFILE) { // better slow than not at all
		a.forget()
		d, err = a.root.OpenDir(dir)
	}
	return d, err
}

// openBelow opens a directory from one at which a handle is kept, which is opened from
// the one above it.
func (a *applier) openBelow(above, rest string) (*dirfd.Dir, error) {
	a.walked.Add(int64(levels(rest)))
	a.keptMu.RLock()
	if from := a.kept[above]; from != nil && a.keptUsed.Add(1) <= keptUses {
		defer a.keptMu.RUnlock()
		return from.OpenDir(rest)
	}
	a.keptMu.RUnlock()
	from, err := a.openDir(above)
	if err != nil {
		return nil, err
	}
	defer a.keep(above, from)
	return from.OpenDir(rest)
}

// keep keeps the handle of a directory.
func (a *applier) keep(dir string, d *dirfd.Dir) {
	a.keptMu.Lock()
	defer a.keptMu.Unlock()
	if a.keptUsed.Load() > keptUses || len(a.kept) == keptMax {
		a.closeKept()
	}
	if old := a.kept[dir]; old != nil {
		old.Close()
	}
	a.kept[dir] = d
}

// closeKept closes all handles; the caller has the lock, so that nobody opens from one.
func (a *applier) closeKept() {
	for _, d := range a.kept {
		d.Close()
	}
	clear(a.kept)
	a.keptUsed.Store(0)
}

// forget takes all handles out of use: what comes next is of another kind, and
// may need other directories under the same paths.
func (a *applier) forget() {
	a.keptMu.Lock()
	defer a.keptMu.Unlock()
	a.closeKept()
}

// close ends the use of the worktree.
func (a *applier) close() {
	a.forget()
	a.root.Close()
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
