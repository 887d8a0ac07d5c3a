package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// Temporary names that could not be removed: nothing that is only there, and
// nobody else's. Whoever records the worktree must know them by their paths,
// for a user may have a file of a like name.

// leave notes what became of the removal of a temporary name. A directory that
// holds something is not ours any more.
func (a *applier) leave(name string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil || dirfd.Gone(err) || errors.Is(err, fs.ErrExist) || errors.Is(err, errStopped) {
		delete(a.litter, name)
	} else {
		a.litter[name] = true
	}
}

// sweepLeft tries again to remove what could not be removed, and returns what
// stays.
func (a *applier) sweepLeft() []string {
	a.mu.Lock()
	names := slices.Collect(maps.Keys(a.litter))
	a.mu.Unlock()
	for _, name := range names {
		p, err := a.open(name)
		if err == nil {
			if _, err = p.dir.Lstat(p.name); err == nil {
				_ = p.discard(path.Base(name))
			}
			p.close()
		}
		if dirfd.Gone(err) {
			a.leave(name, nil)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.litter))
}

// Sweep tries once more to remove what an [Outcome] left, and returns what
// stays.
func Sweep(root string, left []string, opt *Options) (stays []string, err error) {
	a, err := newApplier(root, nil, opt)
	if err != nil {
		return left, fmt.Errorf("sweep: %w", err)
	}
	defer a.root.Close()
	for _, name := range left {
		if safePath(name) == nil {
			a.litter[name] = true
		}
	}
	stays = a.sweepLeft()
	if err := a.closeDirs(); err != nil {
		return stays, fmt.Errorf("sweep: %w", err)
	}
	return stays, nil
}
