package show

import (
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// Narrowest is the terminal for which lines are still cut.
const Narrowest = 20

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

// A Printer prints a list, a page at a time.
type Printer struct {
	W     io.Writer
	M     moments
	L     *Listing
	Width int // of the terminal; 0: nothing is cut
	How   Look
	next  int // the operation that is to be listed next
	Left  int // so many lines may follow; of no account without --limit
	Graph graph
}

// Full reports whether there are as many lines as were asked for.
func (p *Printer) Full() bool { return p.L.Opt.Limit > 0 && p.Left <= 0 }

// A line of the list, in columns.
type line struct {
	id, changes, names, what, marks string
	at                              time.Time
	quiet                           bool // it is not one of those that were recorded on purpose
}

// Print prints a page.
func (p *Printer) Print(list []*engine.Snapshot) error {
	for _, s := range list {
		if p.Restores(s.Time); p.Full() {
			return nil
		}
		if p.L.Graph && p.M.forgotten(s) && !p.Graph.awaits(s.ID) {
			continue
		}
		c := line{id: s.ID.Short(), at: s.Time, what: p.M.what(s), marks: p.M.marks(s), quiet: s.OfRestore()}
		c.changes = changesText(s.Changed)
		c.names = p.names(s.Changed)
		if p.L.Opt.All && s.Where != "." {
			c.marks += "  " + visible.Line(s.Where+system(s)) // what is imported is of no worktree
		}
		lead := ""
		if p.L.Graph {
			for _, above := range p.Graph.add(s, p.M.Here) {
				fmt.Fprintln(p.W, above)
			}
			lead = p.Graph.lead
		}
		if err := p.row(lead, c); err != nil {
			return err
		}
	}
	return nil
}

// Restores prints the lines of what restores replaced since a time. With all, and in
// a graph, undo snapshots have lines of their own.
func (p *Printer) Restores(since time.Time) {
	ops := p.M.Ops
	for ; !p.L.Opt.All && !p.L.Graph && p.next < len(ops) && !p.Full() && ops[p.next].Started.After(since); p.next++ {
		if p.M.Kept[ops[p.next].From] {
			_ = p.row("", line{id: fmt.Sprintf("undo:%d", p.next+1), at: ops[p.next].Started, what: p.M.Replaced(p.next), quiet: true})
		}
	}
}

// row prints a line of the list as the width allows.
func (p *Printer) row(lead string, c line) error {
	p.Left--
	wide, room := p.Width == 0, 0 // without a terminal there is room for all
	if !wide {
		lead = cut(lead, p.Width/2)
		room = p.Width - runewidth.StringWidth(lead)
	}
	from := func(least int) bool { return wide || p.Width-runewidth.StringWidth(lead) >= least }
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
	if p.L.Oneline {
		c.marks += suffix(c.changes)
	} else {
		if from(timeFrom) {
			cell(c.at.Local().Format(time.DateTime), dim, timeColumn)
		}
		if from(ageFrom) {
			cell(Age(time.Since(c.at)), dim, ageColumn)
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
	b.WriteString(p.style(c.what, dim) + p.style(c.marks, Bold))
	_, err := fmt.Fprintln(p.W, strings.TrimRight(b.String(), " "))
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
func (p *Printer) style(text, style string) string {
	if !p.How.Color || style == "" || text == "" {
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
	c = c.Told()
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
		return Count(c.Dirs, "dir")
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
func (p *Printer) names(c *engine.Changed) string {
	if c == nil || !c.Known || c.Base.IsZero() {
		return ""
	}
	var names []string
	c = c.Told()
	for _, n := range c.Telling(namesShown) {
		name := p.name(n.Path)
		if n.Status == 0 && n.Dir {
			name = n.Path + "/"
		} else if n.From != "" {
			if old := p.name(n.From); old != name {
				name = old + " → " + name
			} else {
				name = n.From + " → " + n.Path
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

// name is so much of a path as there is room for.
func (p *Printer) name(full string) string {
	if p.Width == 0 || p.Width >= pathsFrom {
		return full
	}
	name, dir := path.Base(full), path.Base(path.Dir(full))
	if dir != "." && p.Width >= timeFrom {
		name = dir + "/" + name
	}
	return name
}
