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

// hides reports whether the index has more in a directory than its entries tell.
func (n *node) hides() bool {
	if n.contents != nil {
		return n.contents.head.Flags&stattable.Hides != 0
	}
	return !n.row.IsZero() && n.row.Flags()&stattable.Hides != 0
}

// readGitlink gives a directory that is known from the row of the one above it the
// submodule that the index has there, and with it what [listing.conflicted] says.
// Where the index has a file the row has the commit of [worker.insteadOfFile], and
// the directory is a plain one.
func (w *worker) readGitlink(c *node) {
	link := gitlink{commit: c.was.Git(), headed: c.was.Item().Mode.Type() == tree.Nested}
	if !c.noIndex {
		k, t, ok, err := w.inIndex(c.realm, c.parent.path, c.name)
		if err == nil && ok && t.mode != tree.GitLink {
			return
		}
		first, end := k.entries(c.name)
		link.conflict = err == nil && first < end && k.dir.Entries[first].Stage != 0 && !k.holds(c.name)
	}
	c.gitlink, c.side = link, min(c.side, asGitlink)
}

// indexedGitlink gives a submodule that is no repository with a commit any more the commit
// that the index has: the row knows the one that it was on.
func (w *worker) indexedGitlink(n *node) error {
	if !n.gitlink.headed || n.gone != nil || n.nestedRoot() && !n.realm.repo.Head.IsZero() {
		return nil
	}
	_, t, ok, err := w.inIndex(n.parent.realm, n.parent.path, n.name)
	if ok && t.mode == tree.GitLink {
		n.gitlink.commit = t.id
	}
	return err
}

// nameConflict names a submodule in a conflict that is no repository with a
// commit. git add fails at it, and the tree has our side's commit, or else the
// first.
func (w *worker) nameConflict(n *node) {
	if n.gitlink.conflict && n.gone == nil && n.side != outside && !n.nestedRoot() {
		w.skip(Skip{Path: n.path, Reason: noCommitReason, Kept: true})
	}
}
