package ui

import (
	"path"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
)

// An entry is a file or directory among the changes that are shown.
type entry struct {
	name   string // one component, or several where nothing lies beside them
	path   string // "": everything
	change *engine.Change
	old    *engine.Change // of what was renamed: that its old name went
	below  []*entry
	files  int // changes in it and below it
	depth  int
	folded bool
}

// A files is the list of changes, as a tree.
type files struct {
	of         *engine.Snapshot // whose changes they are; nil: the present's
	at         *engine.Snapshot // whose changes were shown before
	difference *engine.Diff
	root       *entry
	rows       []*entry
	cursor     cursor
	err        error
	waiting    bool
}

// set takes over a difference. Of the same snapshot, it stays at the path that was
// chosen.
func (f *files) set(d *engine.Diff, root *entry, err error) {
	before := ""
	if e := f.chosen(); e != nil && (f.at == f.of || f.at != nil && f.of != nil && f.at.ID == f.of.ID) {
		before = e.path
	}
	f.at = f.of
	f.difference, f.root, f.err, f.waiting = d, root, err, false
	f.arrange()
	f.cursor.at = 0
	for i, e := range f.rows {
		if e.path == before {
			f.cursor.at = i
		}
	}
}

// arrange makes the rows of all that is not folded.
func (f *files) arrange() {
	f.rows = f.rows[:0]
	var add func(e *entry)
	add = func(e *entry) {
		f.rows = append(f.rows, e)
		if !e.folded {
			for _, b := range e.below {
				add(b)
			}
		}
	}
	switch {
	case f.root == nil || f.root.files == 0:
	case len(f.root.below) == 1:
		add(f.root.below[0])
	default:
		add(f.root)
	}
	f.cursor.move(0, len(f.rows))
}

// chosen returns the row that keys act on; nil: there is none.
func (f *files) chosen() *entry {
	if f.cursor.at < len(f.rows) {
		return f.rows[f.cursor.at]
	}
	return nil
}

// fold folds or opens the chosen directory, or the one that it lies in.
func (f *files) fold() {
	e := f.chosen()
	if e == nil || len(e.below) == 0 {
		return
	}
	e.folded = !e.folded
	f.arrange()
}

// changes are those at and below an entry, in the order of the rows.
func (e *entry) changes() (list []engine.Change) {
	if e.old != nil {
		list = append(list, *e.old)
	}
	if e.change != nil {
		list = append(list, *e.change)
	}
	for _, b := range e.below {
		list = append(list, b.changes()...)
	}
	return list
}

// olds are the names outside of an entry that something in it had before.
func (e *entry) olds() (list []string) {
	for _, c := range e.changes() {
		if p := string(c.Path); p != e.path && !strings.HasPrefix(p, e.path+"/") {
			list = append(list, p)
		}
	}
	return list
}

// grow makes the tree of changes. What was renamed is at its new name.
func grow(changes []engine.Change) *entry {
	root := &entry{}
	dirs := map[string]*entry{"": root}
	var at func(path string) *entry
	at = func(path string) *entry {
		if e := dirs[path]; e != nil {
			return e
		}
		above, last := "", path
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			above, last = path[:i], path[i+1:]
		}
		e := &entry{name: last, path: path}
		parent := at(above)
		parent.below = append(parent.below, e)
		dirs[path] = e
		return e
	}
	renames, old := (&engine.Diff{Changes: changes}).Renames()
	gone := map[engine.Path]*engine.Change{}
	for i := range changes {
		if c := &changes[i]; old[c.Path] {
			gone[c.Path] = c
		} else {
			at(string(c.Path)).change = c
		}
	}
	for to, from := range renames {
		dirs[string(to)].old = gone[from]
	}
	root.settle(0)
	return root
}

// settle counts, and puts a directory that has nothing but another into one row
// with that.
func (e *entry) settle(depth int) {
	e.depth = depth
	for i, b := range e.below {
		for b.change == nil && len(b.below) == 1 {
			only := b.below[0]
			only.name = b.name + "/" + only.name
			b = only
		}
		e.below[i] = b
		b.settle(depth + 1)
		e.files += b.files
	}
	if e.change != nil {
		e.files++
	}
}

// draw draws the rows that are seen, or what is said in their place.
func (f *files) draw(r rect, over look) []string {
	switch {
	case f.err != nil:
		return instead(r, span{"! " + line(f.err.Error()), bad})
	case f.waiting && len(f.rows) == 0:
		return instead(r, span{"comparing…", faint})
	case len(f.rows) == 0:
		return instead(r, span{"no difference", faint})
	}
	return f.cursor.draw(len(f.rows), r, over, func(i int, l look, pointer string) string {
		return f.rows[i].draw(r.w, l, pointer, f.rows[i].depth-f.rows[0].depth)
	})
}

func (e *entry) draw(cells int, l look, pointer string, depth int) string {
	spans := []span{{pointer, accent}, {strings.Repeat("  ", depth), usual}}
	var right []span
	if len(e.below) > 0 {
		sign := "▾ "
		if e.folded {
			sign = "▸ "
		}
		spans = append(spans, span{sign, faint})
		right = []span{{" " + number(e.files) + " ", faint}}
	}
	switch {
	case e.path == "":
		return row(cells, l, append(spans, span{"all " + count(e.files, "change"), strong})...)
	case e.change == nil:
		spans = append(spans, span{name(e.name) + "/", accent})
	default:
		text, status := name(e.name), e.change.Status()
		if isDir(*e.change) {
			text += "/"
		}
		if e.old != nil {
			text, status = name(string(e.old.Path)+" → "+e.path), 'R'
			if from := string(e.old.Path); path.Dir(from) == path.Dir(e.path) && !strings.Contains(e.name, "/") {
				text = name(path.Base(from)) + " → " + name(e.name)
			}
		}
		spans = append(spans, span{string(status) + " ", letters[status]}, span{text, usual})
		if what := modes(*e.change); what != "" {
			right = append([]span{{" " + what + " ", faint}}, right...)
		}
	}
	return sides(cells, l, right, spans...)
}

// letters are the looks of git's letters for changes.
var letters = map[byte]look{'A': good, 'D': bad, 'M': careful, 'T': careful, 'R': careful}

// isDir reports whether a change is of a directory.
func isDir(c engine.Change) bool { return c.To.Dir() || c.To.Mode == 0 && c.From.Dir() }
