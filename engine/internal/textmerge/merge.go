// Package textmerge merges two texts that were made of a third, line by line, as
// "git merge-file" does.
//
// A change that one side alone made is taken over. Where both changed the same
// lines, or lines that touch, and not to the same, there is a conflict: the text
// has both versions then, between markers, and the caller decides whether anybody
// is to see that.
//
// The package is pure. Where a change may be seen in several equally short ways,
// as when one of two equal lines is gone, it chooses as git does nearly always;
// decision 0024 says where not.
package textmerge

import (
	"bytes"
	"context"
)

// Labels stand behind the markers of a conflict: what its first and its second part
// are.
type Labels struct{ Ours, Theirs string }

// Merge brings to ours what theirs has changed of base. It returns the text and how
// many conflicts are in it. Its error is that of the context.
func Merge(ctx context.Context, base, ours, theirs []byte, labels Labels) (text []byte, conflicts int, err error) {
	switch {
	case bytes.Equal(base, theirs), bytes.Equal(ours, theirs):
		return ours, 0, nil
	case bytes.Equal(base, ours):
		return theirs, 0, nil
	}
	m := merging{labels: labels, ctx: ctx}
	m.base, m.ours, m.theirs = m.lines(base), m.lines(ours), m.lines(theirs)
	text, conflicts = m.merge()
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	return text, conflicts, nil
}

// merge writes the merged text. When the context has ended it is none.
func (m *merging) merge() (text []byte, conflicts int) {
	ours, theirs := compare(m.ctx, m.base.ids, m.ours.ids), compare(m.ctx, m.base.ids, m.theirs.ids)
	if m.ctx.Err() != nil { // they are no scripts then
		return nil, 0
	}
	regions := m.refine(m.regions(hunks(ours), hunks(theirs)))
	if m.ctx.Err() != nil {
		return nil, 0
	}
	regions = m.join(regions)
	for _, r := range regions {
		if r.kind == conflict {
			conflicts++
		}
	}
	return m.write(regions), conflicts
}

// A text is a file as lines, each with its line end, if it has one. Equal lines
// have equal ids.
type text struct {
	lines [][]byte
	ids   []int
}

// A merging is three texts whose lines have common ids.
type merging struct {
	ctx                context.Context
	labels             Labels
	known              map[string]int
	base, ours, theirs text
}

// lookLines is after how many lines the context is looked at.
const lookLines = 1 << 14

func (m *merging) lines(p []byte) (t text) {
	if m.known == nil {
		m.known = map[string]int{}
	}
	for line := range bytes.Lines(p) {
		if len(t.ids)%lookLines == 0 && m.ctx.Err() != nil {
			return text{}
		}
		id, ok := m.known[string(line)]
		if !ok {
			id = len(m.known)
			m.known[string(line)] = id
		}
		t.lines, t.ids = append(t.lines, line), append(t.ids, id)
	}
	return t
}

// A run is some lines in a row.
type run struct{ from, to int }

func (s run) len() int { return s.to - s.from }

// A hunk is a run of lines that another run takes the place of.
type hunk struct{ old, new run }

// hunks returns the runs that a script has changed, in order.
func hunks(s script) (list []hunk) {
	for i, j := 0, 0; i < len(s.a) || j < len(s.b); i, j = i+1, j+1 {
		h := hunk{run{i, i}, run{j, j}}
		for i < len(s.a) && s.a[i] {
			i++
		}
		for j < len(s.b) && s.b[j] {
			j++
		}
		if h.old.to, h.new.to = i, j; h.old.len() > 0 || h.new.len() > 0 {
			list = append(list, h)
		}
	}
	return list
}

// What a region of the merged text is.
type kind int

const (
	takeOurs   kind = iota // ours changed it, or both did to the same
	takeTheirs             // theirs changed it
	conflict
)

// A region is a run of lines that not all three texts have in common. Between two
// regions all have the same lines.
type region struct {
	kind         kind
	ours, theirs run
}

// regions joins the changes of both sides. Those that overlap or touch are one
// region. The very same change on both sides is none: the lines are equal now.
func (m *merging) regions(ours, theirs []hunk) (list []region) {
	x, y := side{hunks: ours}, side{hunks: theirs}
	for !x.done() || !y.done() {
		switch {
		case y.done() || !x.done() && x.hunks[0].old.to < y.hunks[0].old.from:
			h := x.take()
			list = append(list, region{takeOurs, h.new, moved(h.old, y.shift)})
		case x.done() || y.hunks[0].old.to < x.hunks[0].old.from:
			h := y.take()
			list = append(list, region{takeTheirs, moved(h.old, x.shift), h.new})
		case x.hunks[0].old == y.hunks[0].old && m.same(region{ours: x.hunks[0].new, theirs: y.hunks[0].new}):
			x.take()
			y.take()
		default:
			list = append(list, m.overlap(&x, &y))
		}
	}
	return list
}

// A side is what is left of the changes that one side made.
type side struct {
	hunks []hunk
	shift int // from lines of base to lines of this side, behind the last hunk
}

func (s *side) done() bool { return len(s.hunks) == 0 }

func (s *side) take() hunk {
	h := s.hunks[0]
	s.hunks, s.shift = s.hunks[1:], h.new.to-h.old.to
	return h
}

// overlap makes one region of the next hunks of both sides, and of what overlaps or
// touches it.
func (m *merging) overlap(x, y *side) region {
	begin := min(x.hunks[0].old.from, y.hunks[0].old.from)
	r := region{kind: conflict, ours: run{from: begin + x.shift}, theirs: run{from: begin + y.shift}}
	end := begin
	for more := true; more; {
		more = false
		for _, s := range []*side{x, y} {
			for !s.done() && s.hunks[0].old.from <= end {
				end, more = max(end, s.take().old.to), true
			}
		}
	}
	r.ours.to, r.theirs.to = end+x.shift, end+y.shift
	if m.same(r) {
		r.kind = takeOurs
	}
	return r
}

func moved(s run, by int) run { return run{s.from + by, s.to + by} }

// same reports whether both sides have the same in a region.
func (m *merging) same(r region) bool {
	if r.ours.len() != r.theirs.len() {
		return false
	}
	for i := range r.ours.len() {
		if m.ours.ids[r.ours.from+i] != m.theirs.ids[r.theirs.from+i] {
			return false
		}
	}
	return true
}

// refine makes conflicts smaller: what both sides have in common is none.
func (m *merging) refine(list []region) (out []region) {
	for _, r := range list {
		if r.kind != conflict || r.ours.len() == 0 || r.theirs.len() == 0 {
			out = append(out, r)
			continue
		}
		a, b := m.ours.ids[r.ours.from:r.ours.to], m.theirs.ids[r.theirs.from:r.theirs.to]
		for _, h := range hunks(compare(m.ctx, a, b)) {
			out = append(out, region{conflict, moved(h.old, r.ours.from), moved(h.new, r.theirs.from)})
		}
	}
	return out
}

// closeLines is how many lines between two conflicts make them one, for a reader.
const closeLines = 3

// join makes one conflict of two that have little between them: three lines, or any
// number of lines without a letter or digit.
func (m *merging) join(list []region) (out []region) {
	for _, r := range list {
		last := len(out) - 1
		if last < 0 || r.kind != conflict || out[last].kind != conflict {
			out = append(out, r)
			continue
		}
		between := m.ours.lines[out[last].ours.to:r.ours.from]
		if len(between) > closeLines && says(between) {
			out = append(out, r)
			continue
		}
		out[last].ours.to, out[last].theirs.to = r.ours.to, r.theirs.to
	}
	return out
}

// says reports whether there is a letter or a digit in some lines.
func says(lines [][]byte) bool {
	for _, line := range lines {
		for _, c := range line {
			if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				return true
			}
		}
	}
	return false
}
