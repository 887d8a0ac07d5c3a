// Package hunk compares two texts line by line and takes over single hunks of the
// difference. It knows bytes alone: neither files nor who chooses.
package hunk

import (
	"bytes"
	"fmt"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// binaryBytes is how far git looks for a NUL to tell a binary file.
const binaryBytes = 8000

// Binary reports whether git would take a file for a binary one, which has no
// lines: there is a NUL in its first 8,000 bytes.
func Binary(p []byte) bool {
	return bytes.IndexByte(p[:min(len(p), binaryBytes)], 0) >= 0
}

// A Line is one line of a hunk. Op is ' ' for one that both texts have, '-' for one
// that goes, '+' for one that comes. Text has the end of the line, unless it is the
// last line of a text that does not end with one.
type Line struct {
	Op   byte
	Text []byte
}

// A Hunk is a run of changed lines, with unchanged ones around them. Old and New are
// the numbers of its first line in the two texts, from 0 on.
type Hunk struct {
	Old, New int
	Lines    []Line
}

// Of returns what makes the text new of the text old. It keeps parts of both.
func Of(old, new []byte) []Hunk {
	var out []Hunk
	for _, h := range textdiff.Hunks(old, new, textdiff.IndentHeuristic()) {
		lines := make([]Line, 0, len(h.Edits))
		for _, e := range h.Edits {
			lines = append(lines, Line{signs[e.Op], e.Line})
		}
		out = append(out, Hunk{h.LineNoX, h.LineNoY, lines})
	}
	return out
}

var signs = map[diff.Op]byte{diff.Match: ' ', diff.Delete: '-', diff.Insert: '+'}

// counts returns how many lines of the old and of the new text a hunk has.
func (h Hunk) counts() (old, new int) {
	for _, l := range h.Lines {
		if l.Op != '+' {
			old++
		}
		if l.Op != '-' {
			new++
		}
	}
	return old, new
}

// Changed returns how many lines a hunk adds and removes.
func (h Hunk) Changed() (added, removed int) {
	for _, l := range h.Lines {
		switch l.Op {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// noEnd is what stands below a line that has no end.
const noEnd = "\\ No newline at end of file\n"

// Append appends a hunk in the unified format, as git prints it: a count of one is
// left out, and a side without lines begins at the line before.
func (h Hunk) Append(to []byte) []byte {
	old, new := h.counts()
	to = fmt.Appendf(to, "@@ -%s +%s @@\n", side(h.Old, old), side(h.New, new))
	for _, l := range h.Lines {
		to = append(append(to, l.Op), l.Text...)
		if !bytes.HasSuffix(l.Text, []byte("\n")) {
			to = append(to, "\n"+noEnd...)
		}
	}
	return to
}

func side(begin, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", begin)
	case 1:
		return fmt.Sprint(begin + 1)
	}
	return fmt.Sprintf("%d,%d", begin+1, count)
}

// Split returns the runs of changed lines of a hunk, each with the unchanged ones on
// both sides of it: neighbours share what lies between them. One run is not split.
func (h Hunk) Split() []Hunk {
	var out []Hunk
	for i := 0; i < len(h.Lines); {
		begin := i
		for i < len(h.Lines) && h.Lines[i].Op == ' ' {
			i++
		}
		for i < len(h.Lines) && h.Lines[i].Op != ' ' {
			i++
		}
		end := i
		for end < len(h.Lines) && h.Lines[end].Op == ' ' {
			end++
		}
		old, new := Hunk{Lines: h.Lines[:begin]}.counts()
		out = append(out, Hunk{h.Old + old, h.New + new, h.Lines[begin:end:end]})
		if end == len(h.Lines) {
			break
		}
	}
	return out
}

// Apply returns the text old with some hunks taken over. They must be of that text,
// in order; split ones may share lines.
func Apply(old []byte, chosen []Hunk) []byte {
	gone, come := map[int]bool{}, map[int][][]byte{} // by the number of the line, before which they come
	for _, h := range chosen {
		at := h.Old
		for _, l := range h.Lines {
			switch l.Op {
			case '+':
				come[at] = append(come[at], l.Text)
				continue
			case '-':
				gone[at] = true
			}
			at++
		}
	}
	out, n := make([]byte, 0, len(old)), 0
	add := func(line []byte) {
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n') // it is not the last line any more
		}
		out = append(out, line...)
	}
	for line := range bytes.Lines(old) {
		for _, text := range come[n] {
			add(text)
		}
		if !gone[n] {
			add(line)
		}
		n++
	}
	for _, text := range come[n] {
		add(text)
	}
	return out
}
