package worktree

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// release counts one subdirectory, or the visit itself, as finished, and
// finishes every directory for which it was the last.
func (w *worker) release(n *node) error {
	for n != nil && n.pending.Add(-1) == 0 {
		if err := w.finish(n); err != nil {
			return err
		}
		n.report()
		w.done()
		n = n.parent
	}
	return nil
}

// finish makes the trees and the row of a directory, after all below it.
func (w *worker) finish(n *node) error {
	if n.gone != nil {
		if !n.row.IsZero() && w.scan.seen != nil {
			w.scan.seen[n.rowNumber] = false
		}
		w.lost(n.path)
		return nil
	}
	if n.contents == nil && len(n.reports) == 0 && (n.parent != nil || n.row.Head().Levels == w.levels.code()) {
		w.repeat(n, n.row)
		w.count.kept++
		return nil
	}
	if n.contents == nil {
		n.contents = unpack(n.row)
	}
	n.contents.merge(n.reports)
	if err := w.encode(n); err != nil {
		return err
	}
	w.lostIn(n, n.contents.items)
	head := &n.contents.head
	head.Tree, head.Overlay = n.tree, n.overlay
	if n.parent == nil {
		head.Levels = w.levels.code()
	}
	if (n.parent == nil || n.nestedRoot()) && n.realm.wantsAll() {
		head.Flags |= stattable.AllWanted
	}
	row := stattable.Encode(n.path, head, n.contents.items, n.contents.notes)
	w.repeat(n, row)
	changed := !row.Equal(n.row) // not under the lock: the old row may lie on a page that is gone, see faulted
	w.tell(func(r *Result) {
		if changed {
			r.rows[n.path] = row
		}
		if n.all || w.force.above[n.path] {
			r.unsaved[n.path] = n.all
		}
	})
	n.contents = nil
	return nil
}

// unpack makes the contents of a directory of which only subdirectories
// changed.
func unpack(row stattable.Row) *contents {
	c := &contents{head: row.Head(), notes: row.Notes()}
	for _, e := range row.Entries() {
		c.items = append(c.items, e.Item())
	}
	return c
}

// merge puts the news of the subdirectories into the contents.
func (c *contents) merge(reports []report) {
	if len(reports) == 0 {
		return
	}
	var at map[string]int
	if !c.listed {
		at = make(map[string]int, len(c.items))
		for i := range c.items {
			at[c.items[i].Name] = i
		}
	}
	for i := range reports {
		r := &reports[i]
		slot, had := at[r.item.Name]
		switch {
		case r.gone != nil && r.gone.note.Name != "":
			c.notes = append(c.notes, r.gone.note)
			c.head.Flags |= stattable.Retry
		case r.gone != nil:
			c.head.Flags |= stattable.Ambiguous
		}
		switch stays := r.gone == nil || !r.item.Git.IsZero(); {
		case stays && had:
			c.items[slot] = r.item
		case stays:
			c.items = append(c.items, r.item)
		case had:
			c.items[slot].Name = "" // to be dropped
		}
		if r.gone != nil {
			c.head.Flags |= stattable.Hides // what was there may be back, or gone from the disk
		}
	}
	if !c.listed {
		c.items = slices.DeleteFunc(c.items, func(it stattable.Item) bool { return it.Name == "" })
	}
}

// repeat adds what must be named at every scan to the result.
func (w *worker) repeat(n *node, row stattable.Row) {
	for _, note := range row.Notes() {
		path := n.path
		if note.Name != "" {
			path = tree.Join(path, note.Name)
		}
		w.skip(Skip{Path: path, Reason: note.Reason, Kept: note.Kept})
	}
}

// encode makes the git tree and the overlay of a directory.
func (w *worker) encode(n *node) (err error) {
	items := n.contents.items
	slices.SortFunc(items, func(a, b stattable.Item) int { return strings.Compare(a.Name, b.Name) })
	old := stattable.Head{}
	if !n.row.IsZero() {
		old = n.row.Head()
	}
	w.entries = w.entries[:0]
	if n.side == inTree {
		for i := range items {
			if it := &items[i]; !it.Git.IsZero() {
				w.entries = append(w.entries, tree.Entry{Name: it.Name, Mode: it.GitMode, ID: it.Git})
			}
		}
	}
	if n.tree, err = w.saveTree(w.entries, old.Tree); err != nil {
		return err
	}
	w.entries = w.entries[:0]
	for i := range items {
		e, ok, err := w.overlayEntry(n, &items[i])
		if err != nil {
			return err
		}
		mode := e.Mode
		switch {
		case ok:
			w.entries = append(w.entries, e)
		case n.side == inTree && !items[i].Git.IsZero():
			mode = items[i].GitMode // the git tree says it all
		default:
			mode = tree.Absent
		}
		if !mode.IsDir() && mode != tree.Absent {
			w.count.recorded++
		}
	}
	n.overlay, err = w.saveTree(w.entries, old.Overlay)
	return err
}

// overlayEntry returns what the overlay says of an item, if tree and umask do
// not say it all.
func (w *worker) overlayEntry(n *node, it *stattable.Item) (e tree.Entry, ok bool, err error) {
	e = tree.Entry{Name: it.Name, Mode: it.Mode, ID: it.Raw}
	ours := n.side == inTree && !it.Git.IsZero()
	base := it.GitMode.Base(w.cfg.Umask)
	switch {
	case it.Flags&stattable.AbsentNow != 0:
		return tree.Entry{Name: it.Name}, ours, nil
	case it.Flags&stattable.IsDir == 0:
		if it.Mode.Type() == tree.Symlink {
			e.Mode = tree.Symlink
		}
		return e, !ours || dirfd.Storable(base) != e.Mode || it.Git != it.Raw, nil
	case it.Flags&(stattable.Ignored|stattable.InFull) != 0 && !ours && it.Raw.IsZero() && it.Mode.Type() == tree.Dir:
		return e, false, nil // entered in vain
	case ours && it.Raw.IsZero() && it.Mode.Type() == tree.Dir && it.Mode.Perm() == dirfd.Storable(base).Perm():
		return e, false, nil
	}
	if e.ID.IsZero() {
		e.ID, err = w.emptyTree()
	}
	return e, true, err
}

// saveTree keeps a tree, or returns the zero id for one without entries.
func (w *worker) saveTree(entries []tree.Entry, base oid.ID) (oid.ID, error) {
	if len(entries) == 0 {
		return oid.ID{}, nil
	}
	tree.Sort(entries)
	w.payload = w.payload[:0]
	for _, e := range entries {
		w.payload = tree.Append(w.payload, e, w.cfg.Algorithm)
	}
	w.count.Trees++
	return w.cfg.Save.Tree(w.ctx, w.payload, base)
}

// emptyTree keeps the tree without entries, which stands for an empty
// directory.
func (w *worker) emptyTree() (oid.ID, error) {
	w.mu.Lock()
	id := w.emptyID
	w.mu.Unlock()
	if !id.IsZero() {
		return id, nil
	}
	id, err := w.cfg.Save.Tree(w.ctx, nil, oid.ID{})
	w.mu.Lock()
	w.emptyID = id
	w.mu.Unlock()
	return id, err
}
