package worktree

import (
	"strings"

	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// Candidates are what may have changed since the last scan of a worktree. All
// else is taken from the rows of that scan, and not looked at. Nothing that
// changed may be missing here; what did not change may be here too.
//
// What follows from something else than the disk is looked at in any case: rules,
// indexes and settings that are others now, nested repositories, what was read too
// soon or could not be read.
type Candidates struct {
	dirs    map[string]*someNames
	below   map[string]bool // directories of which everything below counts
	above   map[string]bool // the directories on the way to all those, and they themselves
	unasked amount          // of the rows that the scan is based on
}

// someNames are names in a directory, or all of them.
type someNames struct {
	names map[string]bool
	all   bool
}

// NewCandidates returns candidates without any.
func NewCandidates() *Candidates {
	return &Candidates{dirs: map[string]*someNames{}, below: map[string]bool{}, above: map[string]bool{"": true}}
}

// Add adds what lies in a directory under a name; the empty name is all that lies
// in it, but not what lies below its subdirectories.
func (c *Candidates) Add(dir, name string) {
	some := c.dirs[dir]
	if some == nil {
		some = &someNames{names: map[string]bool{}}
		c.dirs[dir] = some
		c.reach(dir)
	}
	some.names[name] = true
	some.all = some.all || name == ""
}

// AddBelow adds a directory with all below it.
func (c *Candidates) AddBelow(dir string) {
	c.below[dir] = true
	c.reach(dir)
}

// reach notes that a directory must be entered.
func (c *Candidates) reach(dir string) {
	for dir != "" && !c.above[dir] {
		c.above[dir] = true
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
	}
}

// isBelow reports whether a directory lies in one of which everything counts.
func (c *Candidates) isBelow(dir string) bool {
	if len(c.below) == 0 {
		return false
	}
	for {
		if c.below[dir] {
			return true
		}
		if dir == "" {
			return false
		}
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
	}
}

// Names returns the names in a directory that are candidates; all says that every
// one is. No candidates at all are a full scan.
func (c *Candidates) in(dir string) (names map[string]bool, all bool) {
	if c == nil || c.isBelow(dir) {
		return nil, true
	}
	some := c.dirs[dir]
	if some == nil {
		return nil, false
	}
	return some.names, some.all
}

// asks returns which names of a directory must be looked at, besides those whose
// entries say so.
func (w *worker) asks(n *node) (names map[string]bool, all bool) {
	names, all = w.cfg.Only.in(n.path)
	// A name on disk need not be the one in the row.
	folded := w.cfg.Settings.FoldCase || w.cfg.Settings.Compose != nil
	return names, all || folded && len(names) > 0
}

// idle reports whether a subdirectory need not be entered: neither in it nor below
// it is a candidate, and all that it inherits is what its row was made with. Then
// it is finished.
func (w *worker) idle(c *node) bool {
	only := w.cfg.Only
	if only == nil || only.above[c.path] || c.all || w.force.above[c.path] || only.isBelow(c.path) {
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
	if w.cfg.Only == nil {
		return
	}
	w.mu.Lock()
	w.result.lost = append(w.result.lost, dir)
	w.mu.Unlock()
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
			w.lost(join(n.path, name))
		}
	}
}

// restless reports whether a directory must be entered by each scan, though
// nothing in it seems to change.
func restless(row stattable.Row) bool {
	const flags = stattable.Ambiguous | stattable.Retry | stattable.DotGit | stattable.Full | stattable.Dropped
	if row.Flags()&flags != 0 || len(row.Notes()) > 0 {
		return true
	}
	for rest := row.Entries(); !rest.Empty(); {
		var e stattable.Entry
		if e, rest = rest.Cut(); e.Flags()&alwaysLook != 0 {
			return true
		}
	}
	return false
}

// alwaysLook are the flags of entries that every scan looks at: what was read too
// soon, and what may be written under another name, of which nothing tells.
const alwaysLook = stattable.Young | stattable.Fresh | stattable.Linked

// link notes a file that has other names now. The directories of those need not
// have been told.
func (w *worker) link(old *stattable.Item, ino uint64) {
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

// more adds the other names of files that were met to the candidates, as far as the
// rows have them. It reports whether there were any.
func (s *scan) more() (found bool) {
	if len(s.linked) == 0 {
		return false
	}
	for dir, row := range s.cfg.StatTable.Below("") {
		for rest := row.Entries(); !rest.Empty(); {
			var e stattable.Entry
			e, rest = rest.Cut()
			if e.Flags()&(stattable.IsDir|stattable.Linked) != 0 || !s.linked[e.Ino()] {
				continue
			}
			if names, all := s.cfg.Only.in(dir); !all && !names[e.Name()] {
				s.cfg.Only.Add(dir, e.Item().Name)
				found = true
			}
		}
	}
	return found
}
