package dirfd

import (
	"strings"
	"sync"
	"sync/atomic"
)

// A Root is a directory with all below it, for somebody who opens many directories there,
// each by its whole path. It is safe for concurrent use.
//
// To open a directory costs its depth, and there may be thousands of directories, each in
// the one before. Of very deep ones some handles are therefore kept for a while, and those
// below are opened from there. Such a handle leads where the path led when it was opened,
// though somebody may have moved the directory since. So it serves few times, and only
// below so many levels as hardly any tree has.
type Root struct {
	*Dir
	mu     sync.RWMutex
	kept   map[string]*Dir
	used   atomic.Int64 // how often kept ones were opened from
	walked atomic.Int64 // the levels that were gone through
}

const (
	levelsBetween = 64 // directories at multiples of it are kept
	keptUses      = 64 // how often they are opened from, before all are opened anew
	keptMax       = 16 // handles at a time
)

// OpenRoot is [Open] for a directory of which others below it are opened.
func OpenRoot(path string) (*Root, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	d.root = true
	return &Root{Dir: d, kept: map[string]*Dir{}}, nil
}

// OpenDir is [Dir.OpenDir] from the root. The empty path is the root, which stays open
// when what is returned is closed.
func (r *Root) OpenDir(path string) (*Dir, error) {
	if path == "" {
		return r.Dir, nil
	}
	above, rest := parted(path)
	r.walked.Add(int64(strings.Count(rest, "/") + 1))
	if above == "" {
		return r.Dir.OpenDir(rest)
	}
	r.mu.RLock()
	if from := r.kept[above]; from != nil && r.used.Add(1) <= keptUses {
		defer r.mu.RUnlock()
		return from.OpenDir(rest)
	}
	r.mu.RUnlock()
	from, err := r.OpenDir(above)
	if err != nil {
		return nil, err
	}
	defer r.keep(above, from)
	return from.OpenDir(rest)
}

// keep keeps the handle of a directory.
func (r *Root) keep(path string, d *Dir) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used.Load() > keptUses || len(r.kept) == keptMax {
		r.closeKept()
	}
	if old := r.kept[path]; old != nil {
		old.Close()
	}
	r.kept[path] = d
}

// closeKept closes all handles; the caller has the lock, so that nobody opens from one.
func (r *Root) closeKept() {
	for _, d := range r.kept {
		d.Close()
	}
	clear(r.kept)
	r.used.Store(0)
}

// Forget takes all handles out of use: each path leads anew where it leads now.
func (r *Root) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeKept()
}

// Close closes all that is open.
func (r *Root) Close() error {
	r.Forget()
	r.Dir.root = false
	return r.Dir.Close()
}

// parted divides the path of a directory at the last place before its end where
// a handle is kept; above is empty if there is none.
func parted(path string) (above, rest string) {
	count, cut := 0, -1
	for i := range len(path) {
		if path[i] == '/' {
			if count++; count%levelsBetween == 0 {
				cut = i
			}
		}
	}
	if cut < 0 {
		return "", path
	}
	return path[:cut], path[cut+1:]
}
