package ui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
)

// A dialog lies over the panes, and has the keys while it is there. Keys scroll it, and
// others close it, unless it says what they do.
type dialog struct {
	title, keys string
	lines       func(w int) [][]span                            // what it says, in rows of so many cells
	press       func(key, text string) (cmd tea.Cmd, mine bool) // nil: what is no key to scroll closes it
	busy        bool                                            // it changes while time passes

	top, seen, rows int // the first row that is seen, how many are, and of how many
}

// take takes a key.
func (m *model) take(d *dialog, key, text string) tea.Cmd {
	if d.press != nil {
		if cmd, mine := d.press(key, text); mine {
			return cmd
		}
	}
	if !d.scroll(key) && d.press == nil {
		m.dialog = nil
	}
	return nil
}

// scroll moves what is seen; false: the key is for something else.
func (d *dialog) scroll(key string) bool {
	switch key {
	case "up", "k":
		d.top--
	case "down", "j":
		d.top++
	case "pgup", "ctrl+b", ",":
		d.top -= max(1, d.seen-1)
	case "pgdown", "ctrl+f", ".":
		d.top += max(1, d.seen-1)
	case "space":
		d.top += max(1, d.seen-1)
		return d.rows > d.seen
	case "home", "g", "<":
		d.top = 0
	case "end", "G", ">":
		d.top = d.rows
	default:
		return false
	}
	return true
}

// draw returns the border, and the rows that fit into so many cells and rows.
func (d *dialog) draw(w, h int) (frame, []string) {
	all := d.lines(w)
	d.rows, d.seen = len(all), min(h, len(all))
	d.top = max(0, min(d.top, d.rows-d.seen))
	f := frame{title: d.title, foot: d.keys, focused: true}
	if d.rows > d.seen {
		f.foot += fmt.Sprintf("  %s–%s of %s  ↑↓", number(d.top+1), number(d.top+d.seen), number(d.rows))
	}
	var rows []string
	for _, spans := range all[d.top : d.top+d.seen] {
		rows = append(rows, row(w, usual, spans...))
	}
	return f, rows
}

// flow breaks a line that is longer than so many cells. What is behind its first span
// stays behind that.
func flow(l []span, w int) [][]span {
	all := 0
	for _, s := range l {
		all += width(s.text)
	}
	if all <= w {
		return [][]span{l}
	}
	head, last := l[0], l[len(l)-1]
	var out [][]span
	for _, text := range wrap(textOf(l[1:]), w-width(head.text)) {
		out = append(out, []span{head, {text, last.look}})
		head.text = strings.Repeat(" ", width(head.text))
	}
	return out
}

// said is a sentence in a dialog.
func said(l look, text string) []span { return []span{{" ", usual}, {text, l}} }

// told is a dialog that only says something. There may be very many lines: they are
// broken once for a width.
func told(title string, lines ...[]span) *dialog {
	var rows [][]span
	broken := 0 // for which width they are
	return &dialog{title: title, keys: "Esc closes", lines: func(w int) [][]span {
		if broken != w {
			rows, broken = nil, w
			for _, l := range lines {
				rows = append(rows, flow(l, w)...)
			}
		}
		return rows
	}}
}

// help lists the keys.
func help() *dialog {
	var lines [][]span
	for _, s := range bindings() {
		lines = append(lines, said(special, s.title))
		for _, b := range s.list {
			if b.name != "" {
				lines = append(lines, []span{{"  " + pad(b.name, 10) + " ", strong}, {b.does, usual}})
			}
		}
		lines = append(lines, nil)
	}
	lines = append(lines, said(special, "Signs"))
	for _, l := range signs {
		lines = append(lines, []span{{"  " + pad(l.node.text, 10) + " ", l.node.look}, {l.means, usual}})
	}
	return told("Keys", lines...)
}

// signs are what marks the rows of the timeline.
var signs = []struct {
	node  span
	means string
}{
	{span{"◌", special}, "the files as they are now"},
	{span{"●", special}, "where the files stand: restored or recorded last"},
	{span{"○", usual}, "a snapshot"},
	{span{"◆", careful}, "a pinned snapshot"},
	{span{"↶", careful}, "what a restore, undo or redo replaced"},
	{span{"◇", faint}, "a checkpoint of another system"},
	{span{"✗", danger}, "a snapshot of which something is lost"},
}

func pad(text string, cells int) string {
	return text + strings.Repeat(" ", max(0, cells-width(text)))
}

// busy says what is under way, and stops it.
func (m *model) busy(title string) *dialog {
	begun, leaving := m.now(), false
	say := func() string {
		p, took := m.back.progress(), m.now().Sub(begun)
		switch {
		case leaving:
			return "stopping…"
		case p != nil && p.Total > 0 && took > 200*time.Millisecond:
			return p.Step + " " + number(p.Done) + " of " + number(p.Total)
		case p != nil && took > 200*time.Millisecond:
			return p.Step + " " + number(p.Done)
		case took > 3*time.Second:
			return "still at it; another process may be using the store"
		}
		return "…"
	}
	return &dialog{
		title: title, keys: "Esc stops", busy: true,
		lines: func(int) [][]span { return [][]span{nil, said(faint, say()), nil} },
		press: func(key, _ string) (tea.Cmd, bool) {
			if key == "esc" || key == "ctrl+c" {
				leaving = true
				m.deeds.cancel()
			}
			return nil, true
		},
	}
}

// ask asks for a text, and does something with it in the background.
func (m *model) ask(title, label, text string, then func(ctx context.Context, text string) tea.Msg) tea.Cmd {
	var f field
	f.put(text)
	m.dialog = &dialog{
		title: title, keys: "Enter does it · Esc does not",
		lines: func(w int) [][]span {
			before := span{" " + label + ": ", faint}
			spans := f.spans()
			room := max(w-width(before.text)-2, 4)
			if over := width(spans[0].text) - room; over > 0 {
				spans[0].text = "…" + cutLeft(spans[0].text, over+1)
			}
			spans[2].text = cut(spans[2].text, room-width(spans[0].text))
			return [][]span{nil, append([]span{before}, spans...), nil}
		},
		press: func(key, text string) (tea.Cmd, bool) {
			switch key {
			case "enter":
				return m.start(title, func(ctx context.Context) tea.Msg { return then(ctx, f.String()) }), true
			case "esc", "ctrl+c":
				m.dialog = nil
			default:
				f.press(key, text)
			}
			return nil, true
		},
	}
	return nil
}

// question shows what a deed will do, and asks whether it may.
func (m *model) question(p planned) *dialog {
	changes := p.plan.Changes
	lost := 0
	for _, c := range changes {
		if c.Status() == 'D' {
			lost++
		}
	}
	counts := []span{{" writes " + count(len(changes)-lost, "path"), good}, {", ", usual}, {"deletes " + count(lost, "path"), map[bool]look{true: danger, false: good}[lost > 0]}}
	if k := len(p.plan.Kept) + len(p.plan.Conflicts); k > 0 {
		counts = append(counts, span{", leaves " + count(k, "path") + " as they are", careful})
	}
	var lines [][]span
	if p.anew {
		lines = append(lines, said(danger, "The files have changed since this was shown. Now it would do this:"))
	}
	if p.deed.of != "" {
		lines = append(lines, said(usual, p.deed.of))
	}
	if p.plan.Unfinished != nil {
		lines = append(lines, said(danger, "! "+line(p.plan.Unfinished.Error())))
	}
	lines = append(lines, counts, said(faint, "What is there now is recorded first. "+p.deed.back+" takes it back."), nil)
	for _, deletions := range []bool{true, false} {
		for _, c := range changes {
			if (c.Status() == 'D') == deletions {
				lines = append(lines, willBe(c))
			}
		}
	}
	lines = stays(lines, "= keep    ", p.plan.Kept, faint)
	lines = stays(lines, "! conflict", p.plan.Conflicts, danger)
	for _, l := range p.deed.lines {
		lines = append(lines, append([]span{{"   ", usual}}, l.spans(0)...))
	}
	d := told(p.deed.title+"?", lines...)
	d.keys = "y yes · n no"
	d.press = func(key, _ string) (tea.Cmd, bool) {
		switch key {
		case "y", "Y":
			return m.carry(p.deed, p.plan), true
		case "n", "N", "esc", "q", "ctrl+c", "enter":
			m.dialog, m.toast = nil, span{"nothing was changed", careful}
			return nil, true
		}
		return nil, false
	}
	return d
}

// willBe says what will happen to a path.
func willBe(c engine.Change) []span {
	text := name(string(c.Path))
	if isDir(c) {
		text += "/"
	}
	switch c.Status() {
	case 'D':
		return []span{{" − delete  ", danger}, {text, usual}}
	case 'A':
		return []span{{" + create  ", good}, {text, usual}}
	case 'T':
		return []span{{" ~ replace ", careful}, {text + "  ", usual}, {modes(c), faint}}
	}
	return []span{{" ~ change  ", careful}, {text + "  ", usual}, {modes(c), faint}}
}

// stays adds lines that name paths which are left as they are.
func stays(lines [][]span, sign string, notes []engine.Note, l look) [][]span {
	for _, n := range notes {
		lines = append(lines, []span{{" " + sign + " ", l}, {name(string(n.Path)), usual}, {": " + line(n.Reason), faint}})
	}
	return lines
}
