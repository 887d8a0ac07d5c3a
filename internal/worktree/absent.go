package worktree

import (
	"errors"
	"slices"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// absent records what the index has and the disk has not: in the git tree, if
// it is not wanted on disk; else only as a name that the index knows.
func (l *listing) absent() error {
	slices.Sort(l.seen) // they nearly are
	if l.known.row != nil {
		if err := l.missing(); err != nil {
			return err
		}
	}
	if l.known.dir == nil {
		return nil
	}
	last := ""
	for i := range l.known.dir.Entries {
		e := &l.known.dir.Entries[i]
		if l.saw(e.Name) || e.Name == last {
			continue
		}
		last = e.Name
		ours, _ := l.known.file(e.Name)
		it := stattable.Item{Name: e.Name, GitMode: ours.mode, Flags: stattable.Tracked}
		id, left := l.left[e.Name]
		if t := trackedBy(e); !left && (t.skip || t.settled() && l.cannotBe(e.Name)) {
			id = t.id
		}
		if l.n.side == inTree {
			it.Git = id
		}
		if it.Git.IsZero() && e.Mode == tree.GitLink {
			l.into.head.Flags |= stattable.Hides
		}
		l.into.items = append(l.into.items, l.absentItem(it))
	}
	return l.absentDirs()
}

// missing is [listing.absent] for names that only the row knows. What was
// there until now may be unwanted on disk, which only the index can tell.
func (l *listing) missing() (err error) {
	var lost []stattable.Item
	for name, it := range l.known.row {
		if it.Flags&stattable.Tracked != 0 && !l.saw(name) {
			lost = append(lost, it)
		}
	}
	isNew := func(it stattable.Item) bool { return it.Flags&stattable.AbsentNow == 0 }
	if !l.n.realm.wantsAll() && slices.ContainsFunc(lost, isNew) {
		l.known.row = nil
		l.known.dir, err = l.directory(l.n.realm, l.n.path)
		return err
	}
	for _, it := range lost {
		if isNew(it) && it.GitMode == tree.GitLink {
			l.into.head.Flags |= stattable.Hides
		}
		if _, left := l.left[it.Name]; left || isNew(it) {
			it = stattable.Item{Name: it.Name, GitMode: it.GitMode, Flags: it.Flags&stattable.IsDir | stattable.Tracked}
		}
		l.into.items = append(l.into.items, l.absentItem(it))
	}
	return nil
}

func (l *listing) absentDirs() error {
	for _, name := range l.known.dir.Dirs {
		if l.saw(name) {
			continue
		}
		var id oid.ID
		if l.n.side == inTree {
			stays, err := (*tracked).unwanted, error(nil)
			if l.cannotBe(name) {
				stays = (*tracked).settled
			}
			if id, err = l.absentTree(l.n.realm, tree.Join(l.n.path, name), stays); err != nil {
				return err
			}
		}
		if _, ok := l.known.file(name); ok { // in a conflict: the row tells only one of the two
			l.into.head.Flags |= stattable.Hides
		}
		it := stattable.Item{Name: name, GitMode: tree.GitDir, Git: id, Flags: stattable.Tracked | stattable.IsDir}
		l.into.items = append(l.into.items, l.absentItem(it))
	}
	return nil
}

// keepBelow is [listing.absentDirs] for the name of the file that was captured
// last. If git add leaves the file out, it does not put it in the place of what
// the index has below the name, and that stays in git's tree.
func (l *listing) keepBelow(name string) (err error) {
	it := &l.into.items[len(l.into.items)-1]
	if l.n.side != inTree || !it.Git.IsZero() || it.Flags&stattable.OverlayOnly != 0 || !l.known.holds(name) {
		return nil
	}
	if it.Git, err = l.absentTree(l.n.realm, tree.Join(l.n.path, name), (*tracked).unwanted); !it.Git.IsZero() {
		it.GitMode = tree.GitDir
	}
	return err
}

// cannotBe reports whether a name is too long for the file system: git add, which
// is told so and not that there is no such file, leaves its entry alone.
func (l *listing) cannotBe(name string) bool {
	const anywhere = 140 // shorter ones every file system takes
	if len(name) <= anywhere {
		return false
	}
	_, err := l.dir.Lstat(name)
	return errors.Is(err, syscall.ENAMETOOLONG)
}

// absentItem makes an item of a name that is not on disk.
func (l *listing) absentItem(it stattable.Item) stattable.Item {
	it.Mode, it.Flags = tree.Absent, it.Flags&^stattable.Rule|stattable.AbsentNow
	if it.Flags&stattable.IsDir == 0 {
		it.Raw = it.Git
	}
	if (it.Name == attrName && !l.n.realm.borrows() || it.Name == ignoreName) && !it.Git.IsZero() && l.readsIndexed(it.Name) {
		it.Flags |= stattable.Rule
	}
	return it
}
