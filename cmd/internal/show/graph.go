package show

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A graph draws which snapshot came from which, newest first: each is joined with
// its base, the one at which the files stood before it. It keeps a lane for each
// snapshot that is still to come.
type graph struct {
	lanes []oid.ID
	lead  string // what stands before the line of the snapshot that was added last
	ended int    // the number of the lane that ended with it, from 1 on; 0: none did
}

// add takes up the next older snapshot, and returns the lines that come before its own.
func (g *graph) add(s *engine.Snapshot, here *engine.Snapshot) (above []string) {
	at := slices.Index(g.lanes, s.ID)
	switch {
	case g.ended > 0 && g.ended <= len(g.lanes):
		above = append(above, g.shift(g.ended-1))
	case g.ended > 0 && at < 0: // what begins here does not go on with what ended there
		above = append(above, strings.TrimRight(strings.Repeat("| ", len(g.lanes)), " "))
	}
	g.ended = 0
	if at < 0 {
		at = len(g.lanes)
		g.lanes = append(g.lanes, s.ID)
	}
	for i := len(g.lanes) - 1; i > at; i-- {
		if g.lanes[i] == s.ID { // another branch began here
			g.lanes = slices.Delete(g.lanes, i, i+1)
			above = append(above, g.join(at, i))
		}
	}
	g.lead = g.node(at, s, here)
	if base := baseOf(s); !base.IsZero() {
		g.lanes[at] = base
	} else {
		g.lanes = slices.Delete(g.lanes, at, at+1)
		g.ended = at + 1
	}
	return above
}

// awaits reports whether a newer snapshot came from this one.
func (g *graph) awaits(id oid.ID) bool { return slices.Contains(g.lanes, id) }

func baseOf(s *engine.Snapshot) oid.ID {
	if s.Changed == nil {
		return oid.ID{}
	}
	return s.Changed.Base
}

// node is what stands before the line of a snapshot: "@" where the files stand, "o"
// of one that a restore took, "*" of any other.
func (g *graph) node(at int, s, here *engine.Snapshot) string {
	mark := "*"
	switch {
	case here != nil && here.ID == s.ID:
		mark = "@"
	case s.OfRestore():
		mark = "o"
	}
	cells := slices.Repeat([]string{"|"}, len(g.lanes))
	cells[at] = mark
	return strings.Join(cells, " ") + " "
}

// join is the line in which one lane, which is gone already, leads into another.
func (g *graph) join(to, from int) string {
	line := []byte(strings.Repeat("| ", len(g.lanes)+1))
	line[2*from] = ' '
	line[2*from-1] = '/'
	for i := 2*to + 1; i < 2*from-1; i++ {
		if line[i] == ' ' {
			line[i] = '_'
		}
	}
	g.slide(line, from+1)
	return strings.TrimRight(string(line), " ")
}

// shift is the line in which the lanes behind one that ended move to the left.
func (g *graph) shift(from int) string {
	line := []byte(strings.Repeat("| ", len(g.lanes)+1))
	line[2*from] = ' '
	g.slide(line, from+1)
	return strings.TrimRight(string(line), " ")
}

// slide moves the lanes from one on to the left.
func (g *graph) slide(line []byte, from int) {
	for i := from; 2*i < len(line); i++ {
		line[2*i] = ' '
		line[2*i-1] = '/'
	}
}
