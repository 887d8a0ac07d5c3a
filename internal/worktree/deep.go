package worktree

import "github.com/seed-82afce7a/rewind/internal/dirfd"

// A directory is opened by its path from the root, so that the handles of those
// above it need not be kept. Thousands of levels deep that would take the square
// of their number. So a directory at each so many levels stays open until all
// below it is finished, and what lies below it is opened from there. Ordinary
// trees are not as deep as that.
const (
	levelsBetween = 512
	heldMax       = 16 // handles; the longest path has 8,192 levels
)

// open opens a directory, from the nearest one above it that is open.
func (w *worker) open(n *node) (*dirfd.Dir, error) {
	if n.base == nil {
		w.count.levels += int64(n.depth)
		return w.root.OpenDir(n.path)
	}
	w.count.levels += int64(n.depth - n.base.depth)
	return n.base.dir.OpenDir(n.path[len(n.base.path)+1:])
}

// hold keeps the handle of a directory that is being visited, if it is to stay
// open; false: the caller closes it.
func (s *scan) hold(n *node, dir *dirfd.Dir) bool {
	if n.depth%levelsBetween != 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) >= heldMax {
		return false
	}
	if s.held == nil {
		s.held = map[*node]bool{}
	}
	s.held[n], n.dir = true, dir
	return true
}

// letGo closes the handle of a directory below which all is finished.
func (s *scan) letGo(n *node) {
	if n.dir == nil {
		return
	}
	s.mu.Lock()
	delete(s.held, n)
	s.mu.Unlock()
	n.dir.Close()
	n.dir = nil
}
