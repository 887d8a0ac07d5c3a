// Package changes sums up what a snapshot changed: how many files and lines, and
// which names (docs/decisions/0016-moments.md).
//
// It is handed the paths at which two states differ, and a way to read contents.
// What it does is bounded: the lines of a few small files are counted, and of no
// others. It knows no store, and decides
// nothing about which states are compared.
package changes

import (
	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/seed-82afce7a/rewind/internal/hunk"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Change is one path at which two states differ.
type Change struct {
	Path     string
	Status   byte // git's letter
	From, To Side
}

// A Side is what one side of a change holds.
type Side struct {
	Mode tree.Mode
	ID   oid.ID // of the content; zero for directories
}

// A Counter counts lines within bounds.
type Counter struct {
	Files int   // it counts in none, if there are more
	Each  int64 // bytes of a file
	All   int64 // bytes of all files together
	Last  bool  // what it does not count is never counted

	// Read returns a content of at most so many bytes; false: it is larger, or
	// cannot be read now.
	Read func(id oid.ID, most int64) ([]byte, bool)
}

// Sum sums up the changes from a base, which are in path order.
func (c *Counter) Sum(base oid.ID, list []Change) *Changed {
	files := 0
	for _, change := range list {
		if !change.dir() {
			files++
		}
	}
	names := make([]Name, 0, len(list))
	settled, room := true, c.All
	for _, change := range list {
		n := Name{Path: change.Path, Status: change.Status, Dir: change.dir()}
		if !n.Dir {
			done := false
			if files <= c.Files {
				done = c.count(&n, change, &room)
			}
			settled = settled && done
		}
		names = append(names, n)
	}
	if len(names) <= namesMax { // of more none has a name in the row
		for i, old := range Renames(list) {
			names[i].From = list[old].Path
		}
	}
	out := sum(base, names)
	out.Settled = settled || c.Last
	return out
}

// dir reports whether a change is of a directory, and of nothing that has content.
func (c Change) dir() bool {
	content := func(s Side) bool { return s.Mode != tree.Absent && !s.Mode.IsDir() }
	return !content(c.From) && !content(c.To)
}

// count counts the lines of one change; false: they are not counted, and could be.
func (c *Counter) count(n *Name, change Change, room *int64) bool {
	if change.From.ID == change.To.ID { // permissions
		n.Counted = true
		return true
	}
	var sides [2][]byte
	for i, side := range []Side{change.From, change.To} {
		if side.ID.IsZero() {
			continue
		}
		data, ok := c.Read(side.ID, min(c.Each, *room))
		if !ok {
			return false
		}
		*room -= int64(len(data))
		if hunk.Binary(data) {
			return true
		}
		sides[i] = data
	}
	n.Counted = true
	for _, edit := range textdiff.Edits(sides[0], sides[1]) {
		switch edit.Op {
		case diff.Insert:
			n.Added++
		case diff.Delete:
			n.Removed++
		}
	}
	return true
}
