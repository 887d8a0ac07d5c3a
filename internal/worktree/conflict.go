package worktree

import (
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const noCommitReason = "nested repository without a commit that git could name"

// conflicted reports whether the index has a submodule in a conflict where a
// directory is. That is not in the row, so the index is asked again next time.
func (l *listing) conflicted(c *node) bool {
	first, end := l.known.entries(c.name)
	if first == end || l.known.dir.Entries[first].Stage == 0 {
		return false
	}
	l.into.head.Flags |= stattable.Hides
	return !l.known.holds(c.name)
}

// inConflict is [listing.conflicted] for a directory that is known from the row
// of the one above it.
func (w *worker) inConflict(c *node) bool {
	dir, err := w.directory(c.realm, c.parent.path)
	if err != nil || dir == nil {
		return false
	}
	k := known{dir: dir}
	first, end := k.entries(c.name)
	return first < end && dir.Entries[first].Stage != 0 && !k.holds(c.name)
}

// relink gives a submodule that is no repository with a commit any more the commit
// that the index has: the row knows the one that it was on.
func (w *worker) relink(n *node) error {
	if !n.link.headed || n.gone != nil || n.nestedRoot() && !n.realm.repo.Head.IsZero() {
		return nil
	}
	outer := n.parent.realm
	dir, err := w.directory(outer, n.parent.path)
	if err != nil || dir == nil {
		return err
	}
	if t, ok := (&known{dir: dir}).file(n.name); ok && t.mode == tree.GitLink {
		n.link.commit = t.id
	}
	return nil
}

// nameConflict names a submodule in a conflict that is no repository with a
// commit. git add fails at it, and the tree has our side's commit, or else the
// first.
func (w *worker) nameConflict(n *node) {
	if n.link.conflict && n.gone == nil && n.side != outside && !n.nestedRoot() {
		w.skip(Skip{Path: n.path, Reason: noCommitReason, Overlaid: true})
	}
}
