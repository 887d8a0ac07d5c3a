package worktree

import (
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const specialReason = "a pipe, socket or device is in its place"

// special decides about a pipe, a socket or a device. It is never recorded, and
// where the index has nothing of its name git does not see it. Where the index
// has an entry, git add fails: the path is left out and named, whether the entry
// is wanted on disk or not. Only a submodule stays what it is in git's tree:
// nothing of its content would be there in any case. What the index has below
// the name is as if nothing was there.
func (l *listing) special(name string) error {
	t, ok, err := l.indexed(name)
	if !ok || err != nil || l.n.side != inTree {
		return err
	}
	id := oid.ID{}
	if t.mode == tree.GitLink && (t.entry == nil || t.settled()) {
		id = t.id
	}
	l.leave(name, id)
	l.note(l.into, stattable.Note{Name: name, Reason: specialReason})
	return nil
}
