package worktree

import (
	"errors"
	"io/fs"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// leave notes that something is on disk though it was left out: what the index
// has under its name, and may not want on disk, is not in its place. Git's tree
// may have an id all the same. What the index has below the name is hidden by
// nothing. The row cannot say so; the next scan must look into the index again.
func (l *listing) leave(name string, id oid.ID) {
	if l.left == nil {
		l.left = map[string]oid.ID{}
	}
	l.left[name] = id
	l.into.head.Flags |= stattable.Hides
}

// indexed says what the index itself has under a name: the row may have the id
// of what was on disk before.
func (l *listing) indexed(name string) (t tracked, ok bool, err error) {
	if t, ok = l.known.file(name); !ok || l.known.row == nil {
		return t, ok, nil
	}
	l.known.row = nil
	if l.known.dir, err = l.directory(l.n.realm, l.n.path); err != nil {
		return t, false, err
	}
	t, ok = l.known.file(name)
	return t, ok, nil
}

// keepIndexed lets git's tree keep what the index has of a directory that may
// not be searched, as git add does: it cannot tell that anything is gone. The
// overlay says that nothing of it was recorded.
func (w *worker) keepIndexed(n *node) error {
	if !n.held || n.side == outside {
		return nil
	}
	p := n.parent
	_, t, ok, err := w.inIndex(p.realm, p.path, n.name)
	if err != nil {
		return err
	}
	it := stattable.Item{Name: n.name, Mode: tree.Absent, GitMode: tree.GitDir, Flags: stattable.Tracked | stattable.AbsentNow}
	switch {
	case ok && t.mode == tree.GitLink && t.entry != nil && !t.settled():
		return nil
	case ok && t.mode == tree.GitLink:
		it.GitMode, it.Git, it.Raw = tree.GitLink, t.id, t.id
	case ok && t.entry != nil:
		return nil
	default: // beside a file in a conflict, too, the index may have a directory
		it.Flags |= stattable.IsDir
		if it.Git, err = w.absentTree(p.realm, n.path, (*tracked).settled); err != nil {
			return err
		}
	}
	n.gone.stays = &it
	return nil
}

// denied reports whether something cannot be looked at for want of a permission.
func denied(err error) bool { return errors.Is(err, fs.ErrPermission) }

// wasClosed reports whether a directory is one that could not be looked at, or
// lies in one.
func (r *Result) wasClosed(dir string) bool {
	for len(r.closed) > 0 && dir != "" {
		if r.closed[dir] {
			return true
		}
		dir = tree.Parent(dir)
	}
	return false
}
