package worktree

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// before returns the file or link that the row has under a name, nil if none. A
// directory that git's tree has in its place is not the file's.
func (l *listing) before(name string) *stattable.Item {
	if len(l.old) == 0 {
		return nil
	}
	it, ok := l.old[name]
	if !ok || it.Flags&(stattable.IsDir|stattable.AbsentNow) != 0 {
		return nil
	}
	if it.GitMode == tree.GitDir {
		it.Git, it.GitMode = oid.ID{}, it.Mode.Git()
	}
	return &it
}

// see notes that a name is on disk: what the index has under it counts no more.
// A file that is left out hides nothing.
func (l *listing) see(name string) { l.seen = append(l.seen, name) }

// saw reports whether a name of the index is on disk, when all names were looked at and
// sorted.
func (l *listing) saw(name string) bool {
	_, ok := slices.BinarySearch(l.seen, name)
	return ok
}
