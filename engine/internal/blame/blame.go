// Package blame finds out which snapshot brought each line of a file.
//
// It goes back through the versions of that file alone: what it does grows with
// their number, whatever else was recorded. It reads no store, and it does not know
// how a history is found: it is handed functions for that.
package blame

import (
	"bytes"
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/hunk"
)

// A Line is one line of a file.
type Line struct {
	Number int               // counted from 1
	Text   []byte            // with its end
	From   *records.Snapshot // the one that brought it; nil: it is not recorded yet
	Path   string            // what the file was called there

	// Older says that nothing is known of the time before From: the line was there
	// already, or in what cannot be read.
	Older bool
}

// A Version is a file of lines in a snapshot.
type Version struct {
	Snapshot *records.Snapshot // nil: as it is now
	Path     string
	Text     []byte
}

// A Past is the history of files.
type Past interface {
	// Earlier returns the snapshot that made the file what a version has, and the
	// version that it replaced. There is no version before a file was made; then
	// begins says whether that is because the history begins there. Of what is not
	// recorded yet no snapshot made it. With an error, the version could not be read.
	Earlier(ctx context.Context, v *Version) (made *records.Snapshot, before *Version, begins bool, err error)
}

// Run finds out where the lines of a version come from that have the numbers from
// first to last, counted from 1. If a version could not be read, that is the error, and
// the lines that may be older than the one after it are marked so.
func Run(ctx context.Context, past Past, v *Version, first, last int) (lines []Line, err error) {
	var open []int // the numbers that the lines which are not known yet have in v, from 0 on
	n := 0
	for text := range bytes.Lines(v.Text) {
		if n++; n >= first && n <= last {
			lines = append(lines, Line{Number: n, Text: text})
			open = append(open, n-1)
		}
	}
	at := make([]int, len(open)) // and which lines of the result they are
	for i := range at {
		at[i] = i
	}
	for len(open) > 0 {
		made, before, begins, err := past.Earlier(ctx, v)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		give := func(line int, older bool) {
			lines[line].From, lines[line].Path, lines[line].Older = made, v.Path, older
		}
		if before == nil {
			for _, line := range at {
				give(line, begins || err != nil)
			}
			return lines, err
		}
		moved := back(v.Text, before.Text, open)
		kept := 0
		for i, line := range at {
			if moved[i] < 0 {
				give(line, false)
				continue
			}
			open[kept], at[kept] = moved[i], line
			kept++
		}
		open, at, v = open[:kept], at[:kept], before
	}
	return lines, nil
}

// back returns which lines of the text old those lines of the text new are that have
// these numbers, in order; -1: none.
func back(new, old []byte, numbers []int) []int {
	out := make([]int, len(numbers))
	i, shift := 0, 0 // what is to be added to a number of new
	above, below := alike(old, new)
	lines := bytes.Count(new[:above], newline)
	for ; i < len(numbers) && numbers[i] < lines; i++ {
		out[i] = numbers[i]
	}
	for _, h := range hunk.Of(old[above:len(old)-below], new[above:len(new)-below]) {
		h.Old, h.New = h.Old+lines, h.New+lines
		for ; i < len(numbers) && numbers[i] < h.New; i++ {
			out[i] = numbers[i] + shift
		}
		x, y := h.Old, h.New
		for _, l := range h.Lines {
			if l.Op != '-' {
				if i < len(numbers) && numbers[i] == y {
					if out[i] = x; l.Op == '+' {
						out[i] = -1
					}
					i++
				}
				y++
			}
			if l.Op != '+' {
				x++
			}
		}
		shift = x - y
	}
	for ; i < len(numbers); i++ {
		out[i] = numbers[i] + shift
	}
	return out
}
