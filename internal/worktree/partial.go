package worktree

import (
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A scan that is told what changed ([Config.Only]) looks at nothing else on disk, but
// for what follows from something else: rules, indexes and settings that are others now,
// nested repositories, what was read too soon or could not be read.

// asks returns which names of a directory must be looked at, besides those whose
// entries say so.
func (w *worker) asks(n *node) (names map[string]bool, all bool) {
	names, all = w.cfg.Only.in(n.path)
	// A name on disk need not be the one in the row.
	folded := w.cfg.Settings.FoldCase || w.cfg.Settings.Compose != nil
	return names, all || folded && len(names) > 0
}

// idle reports whether a subdirectory need not be entered: nothing changed in it or
// below it, and all that it inherits is what its row was made with. Then
// it is finished.
func (w *worker) idle(c *node) bool {
	only := w.cfg.Only
	if only == nil || w.way.above[c.path] || c.all || w.force.above[c.path] || only.Reaches(c.path) {
		return false
	}
	row, _, ok := w.cfg.StatTable.Row(c.path)
	if !ok {
		return false
	}
	head := row.Head()
	if head.Rules != c.rules || head.Attrs != c.attrs || !c.realm.trusted && !(c.noIndex && head.Index == 0) {
		return false
	}
	if c.was.IsZero() { // the parent was listed, and must be told
		c.row, c.mode, c.tree, c.overlay = row, head.Mode, head.Tree, head.Overlay
		c.report()
	}
	return true
}

// busy drops the subdirectories that need not be entered.
func (w *worker) busy(kids []*node) []*node {
	if w.cfg.Only == nil {
		return kids
	}
	stay := kids[:0]
	for _, c := range kids {
		if w.idle(c) {
			continue
		}
		stay = append(stay, c)
	}
	return stay
}

// lost notes that the rows of a directory and of all below it hold no more. A full
// scan knows by what it has not seen.
func (w *worker) lost(dir string) {
	if w.cfg.Only != nil {
		w.tell(func(r *Result) { r.lost = append(r.lost, dir) })
	}
}

// lostIn does that for the subdirectories that a row had, and which are not among
// the items any more, which are in order.
func (w *worker) lostIn(n *node, items []stattable.Item) {
	if w.cfg.Only == nil || n.row.IsZero() {
		return
	}
	there := map[string]bool{}
	for i := range items {
		if items[i].Flags&stattable.IsDir != 0 && items[i].Flags&stattable.AbsentNow == 0 {
			there[items[i].Name] = true
		}
	}
	for name := range n.row.Subdirectories() {
		if !there[name] {
			w.lost(tree.Join(n.path, name))
		}
	}
}

// hardLinked notes a file that has other names now. The directories of those need not
// have been told.
func (w *worker) hardLinked(old *stattable.Item, ino uint64) {
	if w.cfg.Only == nil || old != nil && old.Ino == ino && old.Flags&stattable.Linked != 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.linked == nil {
		w.linked = map[uint64]bool{}
	}
	w.linked[ino] = true
}

// more adds the other names of files that were met to what changed, as far as the rows
// have them. It reports whether there were any.
func (s *scan) more() (found bool) {
	if len(s.linked) == 0 {
		return false
	}
	for dir, row := range s.cfg.StatTable.Below("") {
		for _, e := range row.Entries() {
			if e.Flags()&(stattable.IsDir|stattable.Linked) != 0 || !s.linked[e.Ino()] {
				continue
			}
			if !s.cfg.Only.Has(dir, e.Name()) {
				s.cfg.Only.Add(dir, e.Item().Name)
				found = true
			}
		}
	}
	return found
}
