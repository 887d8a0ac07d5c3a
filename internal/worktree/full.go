package worktree

import (
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// trackedOnly reports whether what the index does not know is left out here.
func (n *node) trackedOnly() bool { return n.full != notFull }

// count finds out whether the directory holds too many files that the index
// does not know, and names it if so. Ignored files do not count, nor what the
// policy leaves out by its name.
func (l *listing) count(names []dirfd.Name) {
	n, policy := l.n, l.cfg.Policy
	if n.full == fullHere {
		n.full = notFull
	}
	if policy == nil || n.parent == nil || n.ignored || n.all || n.full == fullAbove || policy.Full(len(names)) == "" {
		return
	}
	files := 0
	for i := range names {
		name, kind := l.identify(&names[i])
		if kind != tree.File && kind != tree.Symlink {
			continue
		}
		if _, tracked := l.known.file(name); tracked || l.rules.Match(name, false) == ignore.Ignored {
			continue
		}
		if place, _ := l.placeOf(tree.Join(n.path, name), false, false, 0); place != Nowhere {
			files++
		}
	}
	if why := policy.Full(files); why != "" {
		n.full = fullHere
		l.into.head.Flags |= stattable.Full
		l.note(l.into, stattable.Note{Reason: why})
	}
}

// identify returns a listed name as it is recorded, and what it is: nothing
// for a ".git", and for what is gone meanwhile or the file system refuses to
// tell; then listing said nothing of it.
func (l *listing) identify(f *dirfd.Name) (name string, kind tree.Mode) {
	name, kind = f.Name, f.Type
	if compose := l.cfg.Settings.Compose; compose != nil {
		name = compose(name)
	}
	if name == gitName {
		return name, tree.Absent
	}
	if kind == 0 {
		st, err := l.dir.Lstat(name)
		if err != nil {
			return name, tree.Absent
		}
		kind = st.Mode.Type()
	}
	if l.cfg.Settings.FoldCase {
		name = l.spelling(name)
	}
	return name, kind
}
