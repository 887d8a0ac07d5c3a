package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// width is how many columns the terminal has, 0 where the output is none: then
// nothing is cut.
func (a *app) width() int {
	f, ok := behind(a.out).(*os.File)
	if !ok || !isTerminal(a.out) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return max(w, narrowest)
}

// narrowest is the terminal for which lines are still cut.
const narrowest = 20

// The widths of columns, with what separates them from the next.
const (
	idColumn      = 14
	timeColumn    = 21
	ageColumn     = 10
	changesColumn = 20
	namesColumn   = 30 // where nothing is cut
)

// How wide a terminal has to be for a column; pathsFrom is for names with all
// directories above them.
const (
	changesFrom = 40
	ageFrom     = 56
	namesFrom   = 70
	timeFrom    = 110
	pathsFrom   = 160
)

// A printer prints a list, a page at a time.
type printer struct {
	w     io.Writer
	m     moments
	l     *listing
	width int // of the terminal; 0: nothing is cut
	how   look
	next  int // the operation that is to be listed next
	left  int // so many lines may follow; of no account without --limit
	graph graph
}

// full reports whether there are as many lines as were asked for.
func (p *printer) full() bool { return p.l.opt.Limit > 0 && p.left <= 0 }

// A line of the list, in columns.
type line struct {
	id, changes, names, what, marks string
	at                              time.Time
	quiet                           bool // it is not one of those that were recorded on purpose
}

// print prints a page.
func (p *printer) print(list []*engine.Snapshot) error {
	for _, s := range list {
		if p.restores(s.Time); p.full() {
			return nil
		}
		if p.l.graph && p.m.forgotten(s) && !p.graph.awaits(s.ID) {
			continue
		}
		c := line{id: short(s.ID), at: s.Time, what: p.m.what(s), marks: p.m.marks(s), quiet: s.OfRestore()}
		c.changes = changesText(s.Changed)
		c.names = p.names(s.Changed)
		if p.l.opt.All && s.Where != "." {
			c.marks += "  " + plain(s.Where+system(s)) // what is imported is of no worktree
		}
		lead := ""
		if p.l.graph {
			for _, above := range p.graph.add(s, p.m.here) {
				fmt.Fprintln(p.w, above)
			}
			lead = p.graph.lead
		}
		if err := p.row(lead, c); err != nil {
			return err
		}
	}
	return nil
}

// restores prints the lines of what restores replaced since a time. With all, and in
// a graph, undo snapshots have lines of their own.
func (p *printer) restores(since time.Time) {
	ops := p.m.ops
	for ; !p.l.opt.All && !p.l.graph && p.next < len(ops) && !p.full() && ops[p.next].Started.After(since); p.next++ {
		if p.m.kept[ops[p.next].From] {
			_ = p.row("", line{id: fmt.Sprintf("undo:%d", p.next+1), at: ops[p.next].Started, what: p.m.replaced(p.next), quiet: true})
		}
	}
}

// row prints a line of the list as the width allows.
func (p *printer) row(lead string, c line) error {
	p.left--
	wide, room := p.width == 0, 0 // without a terminal there is room for all
	if !wide {
		lead = cut(lead, p.width/2)
		room = p.width - runewidth.StringWidth(lead)
	}
	from := func(least int) bool { return wide || p.width-runewidth.StringWidth(lead) >= least }
	var b strings.Builder
	b.WriteString(lead)
	cell := func(text, style string, width int) {
		used := max(width, runewidth.StringWidth(text)+2)
		b.WriteString(p.style(text, style) + strings.Repeat(" ", used-runewidth.StringWidth(text)))
		room -= used
	}
	dim := ""
	if c.quiet {
		dim = faint
	}
	if id := shortest; !from(namesFrom) {
		cell(cut(c.id[:min(id, len(c.id))], room-2), yellow, min(id, room-2)+2)
	} else {
		cell(c.id, yellow, idColumn)
	}
	if p.l.oneline {
		c.marks += suffix(c.changes)
	} else {
		if from(timeFrom) {
			cell(c.at.Local().Format(time.DateTime), dim, timeColumn)
		}
		if from(ageFrom) {
			cell(age(time.Since(c.at)), dim, ageColumn)
		}
		if from(changesFrom) {
			cell(c.changes, "+-", changesColumn)
		}
		if wide {
			cell(c.names, cyan, namesColumn)
		} else if from(namesFrom) {
			width := max(room*2/5, 16)
			cell(cut(c.names, width-2), cyan, width)
		}
	}
	if !wide {
		c.marks = cut(strings.Replace(c.marks, hereMark, "<- here", 1), room-2)
		c.what = cut(c.what, room-runewidth.StringWidth(c.marks))
	}
	b.WriteString(p.style(c.what, dim) + p.style(c.marks, bold))
	_, err := fmt.Fprintln(p.w, strings.TrimRight(b.String(), " "))
	return err
}

func suffix(text string) string {
	if text == "" {
		return ""
	}
	return "  (" + text + ")"
}

// shortest is how many digits of an id, and columns of what a snapshot is, are shown
// where there is little room.
const shortest = 8

// The other styles are those of a patch.
const yellow, faint = "\x1b[33m", "\x1b[2m"

// style colours a text, "+-" the words in it that begin with these.
func (p *printer) style(text, style string) string {
	if !p.how.color || style == "" || text == "" {
		return text
	}
	if style != "+-" {
		return style + text + reset
	}
	words := strings.Split(text, " ")
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "+"):
			words[i] = green + word + reset
		case strings.HasPrefix(word, "-"):
			words[i] = red + word + reset
		}
	}
	return strings.Join(words, " ")
}

// cut shortens a text to so many columns.
func cut(text string, width int) string {
	if runewidth.StringWidth(text) <= width {
		return text
	}
	return runewidth.Truncate(text, max(width, 1), "…")
}

// changesText says how much a snapshot changed, "" where that is not known.
func changesText(c *engine.Changed) string {
	if c == nil || !c.Known {
		return ""
	}
	text := few(c.Files) + " files"
	switch {
	case c.Base.IsZero() && c.Files == 0:
		return "no files"
	case c.Base.IsZero() && c.Files == 1:
		return "the only file"
	case c.Base.IsZero():
		return "all " + text
	case c.Files+c.Dirs == 0:
		return "nothing"
	case c.Files == 0:
		return count(c.Dirs, "dir")
	case c.Files == 1:
		text = "1 file"
	}
	if c.Added+c.Removed > 0 {
		text += fmt.Sprintf(" +%s -%s", few(c.Added), few(c.Removed))
	}
	return text
}

// few shows a number in at most four characters.
func few(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// namesShown is how many names of what a snapshot changed are listed.
const namesShown = 3

// names lists the names that tell most of what a snapshot changed.
func (p *printer) names(c *engine.Changed) string {
	if c == nil || !c.Known || c.Base.IsZero() {
		return ""
	}
	var names []string
	for _, n := range c.Telling(namesShown) {
		name := n.Path
		if n.Status == 0 && n.Dir {
			name += "/"
		} else if dir := path.Base(path.Dir(name)); p.width > 0 && p.width < pathsFrom {
			name = path.Base(name)
			if dir != "." && p.width >= timeFrom {
				name = dir + "/" + name
			}
		}
		names = append(names, visible.Line(name))
	}
	text := strings.Join(names, ", ")
	if more := c.Files - len(names); !c.Coarse && more > 0 {
		text += fmt.Sprintf(" +%d", more)
	} else if c.Coarse && len(c.Names) > len(names) {
		text += ", …"
	}
	return text
}
