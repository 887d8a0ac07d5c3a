package ui

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// wideTimes is from how many cells on a row has the day and the hour of a snapshot;
// below, it has the day or, of today, the hour.
const wideTimes = 56

// A stop is a row of the timeline: the present, a conversation, or a snapshot.
type stop struct {
	moment *moment // nil: the present, or a conversation
	group  *group  // the conversation that the row is, or belongs to; nil: none
}

// present reports whether the row stands for the files as they are.
func (s stop) present() bool { return s.moment == nil && s.group == nil }

// same reports whether two rows stand for the same.
func (s stop) same(o stop) bool {
	switch {
	case s.moment != nil:
		return o.moment != nil && o.moment.snapshot.ID == s.moment.snapshot.ID
	case s.group != nil:
		return o.moment == nil && o.group != nil && o.group.key == s.group.key
	}
	return o.present()
}

// A group is a run of snapshots of one conversation.
type group struct {
	key     string
	moments []*moment // newest first
	open    bool
}

// A timeline is the list on the left.
type timeline struct {
	past   past
	all    bool            // of all worktrees, and of other systems
	folded map[string]bool // what a person has folded or opened, by the key of the group
	filter string          // words to look for
	stops  []stop          // the rows
	found  int             // snapshots among them, those in folded groups included
	cursor cursor
	now    time.Time // when it is drawn
	edited int       // paths that changed since where the files stand; -1: not known
}

// set takes over what was read, and stays at the snapshot that was chosen.
func (t *timeline) set(p past) {
	t.past = p
	t.arrange()
}

// arrange makes the rows anew, and stays at the row that was chosen.
func (t *timeline) arrange() {
	before := t.chosen()
	t.stops, t.found = t.stops[:0], 0
	words := strings.Fields(strings.ToLower(t.filter))
	if len(words) > 0 {
		for _, m := range t.past.moments {
			if m.matches(words) {
				t.stops = append(t.stops, stop{moment: m})
			}
		}
		t.found = len(t.stops)
	} else {
		t.stops = append(t.stops, stop{})
		t.found = len(t.past.moments)
		t.gather()
	}
	t.choose(before)
}

// gather adds the rows of all snapshots, those of a conversation below one row.
func (t *timeline) gather() {
	list := t.past.moments
	for i := 0; i < len(list); {
		n := run(list[i:])
		if n < 2 {
			t.stops = append(t.stops, stop{moment: list[i]})
			i++
			continue
		}
		g := &group{moments: list[i : i+n]}
		g.key = g.moments[n-1].snapshot.ID.String()
		if folded, said := t.folded[g.key]; said {
			g.open = !folded
		} else {
			g.open = i == 0 || t.past.part && i+n == len(list)
		}
		t.stops = append(t.stops, stop{group: g})
		if g.open {
			for _, m := range g.moments {
				t.stops = append(t.stops, stop{moment: m, group: g})
			}
		}
		i += n
	}
}

// run returns how many of the first moments are of one conversation. What a restore
// replaced in the midst of it belongs to it too.
func run(list []*moment) int {
	session, n := list[0].session, 0
	if session == "" {
		return 1
	}
	for i, m := range list {
		switch {
		case m.session == session:
			n = i + 1
		case m.session != "" || !m.snapshot.OfRestore():
			return n
		}
	}
	return n
}

// chosen returns the row that keys act on.
func (t *timeline) chosen() stop {
	if t.cursor.at < len(t.stops) {
		return t.stops[t.cursor.at]
	}
	return stop{}
}

// choose goes to the row of a snapshot, to its conversation if that is folded, or
// near to where it was.
func (t *timeline) choose(s stop) {
	at := slices.IndexFunc(t.stops, s.same)
	if at < 0 && s.group != nil {
		at = slices.IndexFunc(t.stops, stop{group: s.group}.same)
	}
	if at >= 0 {
		t.cursor.at = at
	}
	t.cursor.move(0, len(t.stops))
}

// newest goes to the newest snapshot, if there is one.
func (t *timeline) newest() {
	if at := slices.IndexFunc(t.stops, func(s stop) bool { return s.moment != nil }); at >= 0 {
		t.cursor.at = at
	}
}

// fold folds or opens the conversation of the chosen row; of all: every one.
func (t *timeline) fold(all bool) {
	s := t.chosen()
	if all {
		folded := !slices.ContainsFunc(t.stops, func(o stop) bool { return o.group != nil && o.group.open })
		for _, o := range t.stops {
			if o.group != nil {
				t.folded[o.group.key] = !folded
			}
		}
	} else if s.group != nil {
		t.folded[s.group.key] = s.group.open
		if s.group.open {
			s.moment = nil
		}
	}
	t.arrange()
	if s.group != nil && t.folded[s.group.key] {
		t.choose(stop{group: s.group})
	}
}

// node is what marks a snapshot, the most important first.
func (m *moment) node() span {
	switch {
	case m.snapshot.Lost != "":
		return span{"✗", danger}
	case m.here:
		return span{"●", special}
	case len(m.pins) > 0:
		return span{"◆", careful}
	case m.snapshot.OfRestore():
		return span{"↶", careful}
	case m.snapshot.Foreign():
		return span{"◇", faint}
	}
	return span{"○", usual}
}

// draw draws the rows that are seen.
func (t *timeline) draw(r rect, over look, now time.Time) []string {
	t.now = now
	return t.cursor.draw(len(t.stops), r, over, func(i int, l look, pointer string) string {
		return t.stops[i].draw(r.w, l, pointer, t)
	})
}

func (s stop) draw(cells int, l look, pointer string, in *timeline) string {
	wide := cells >= wideTimes
	if s.present() {
		text := span{"the files as they are", usual}
		switch {
		case in.edited == 0:
			text = span{"nothing changed", faint}
		case in.edited > 0:
			text = span{count(in.edited, "path") + " changed", careful}
		}
		gap := strings.Repeat(" ", map[bool]int{true: 9, false: 3}[wide])
		return row(cells, l, span{pointer, accent}, span{"◌", special}, span{"  " + gap + "now ", strong}, text)
	}
	if s.moment == nil {
		return s.group.draw(cells, l, pointer, in)
	}
	m := s.moment
	spans := []span{{pointer, accent}}
	if s.group != nil {
		spans = append(spans, span{"│", faint}, m.node())
	} else {
		spans = append(spans, m.node(), span{" ", usual})
	}
	spans = append(spans, span{" " + when(m.snapshot.Time, in.now, wide) + " ", faint})
	spans = append(spans, m.title...)
	var right []span
	for _, p := range m.pins {
		right = append(right, span{" ◆" + cut(line(p), max(8, cells/3)), careful})
	}
	if m.undo > 0 {
		right = append(right, span{" " + m.undoName(), faint})
	}
	if m.here {
		right = append(right, span{" here", special})
	}
	if in.all && m.snapshot.Where != "." && m.snapshot.Where != "" {
		right = append(right, span{" " + name(m.snapshot.Where), faint})
	}
	if right = append(right, m.lines(cells)...); right != nil {
		right = append(right, span{" ", usual})
	}
	return sides(cells, l, right, spans...)
}

// countsFrom is from how many cells on a row says how many lines a snapshot changed.
const countsFrom = 34

// lines says how many lines a snapshot changed, where that is recorded.
func (m *moment) lines(cells int) []span {
	c := m.snapshot.Changed
	if c == nil || !c.Known || cells < countsFrom {
		return nil
	}
	if c = c.Told(); c.Added+c.Removed == 0 {
		return nil
	}
	added, removed := "+"+number(c.Added), "−"+number(c.Removed)
	if cells >= wideTimes {
		added, removed = strings.Repeat(" ", max(0, 6-width(added)))+added, strings.Repeat(" ", max(0, 5-width(removed)))+removed
	}
	return []span{{" " + added, good}, {" " + removed, bad}}
}

func (g *group) draw(cells int, l look, pointer string, in *timeline) string {
	sign := "▸"
	if g.open {
		sign = "▾"
	}
	newest := g.moments[0]
	who := "session " + cut(line(newest.session), 9)
	if newest.agent != "" {
		who = newest.agent
	}
	spans := []span{{pointer, accent}, {sign, strong}, {"  " + when(newest.snapshot.Time, in.now, cells >= wideTimes) + " ", faint}, {who + " ", special}}
	if !g.open {
		spans = append(spans, newest.title...)
	}
	right := []span{{" " + number(len(g.moments)) + " ", faint}}
	for _, m := range g.moments {
		if m.here && !g.open {
			right = append([]span{{" ● here", special}}, right...)
		}
	}
	return sides(cells, l, right, spans...)
}

// shown returns the snapshot of the chosen row: of a conversation the newest. It is
// nil at the present.
func (t *timeline) shown() *engine.Snapshot {
	if m := t.momentOf(); m != nil {
		return m.snapshot
	}
	return nil
}

// momentOf returns the moment of the chosen row; nil at the present.
func (t *timeline) momentOf() *moment {
	switch s := t.chosen(); {
	case s.moment != nil:
		return s.moment
	case s.group != nil:
		return s.group.moments[0]
	}
	return nil
}
