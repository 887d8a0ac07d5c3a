package ui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
)

// A dialog lies over the panes, and has the keys while it is there.
type dialog interface {
	// press takes a key.
	press(m *model, key, text string) tea.Cmd
	// draw returns the border, and the rows that fit into so many cells and rows.
	draw(m *model, w, h int) (frame, []string)
}

// A scroll is a list of rows of which a part is seen.
type scroll struct{ top, seen, rows int }

// press scrolls; false: the key is for something else.
func (s *scroll) press(key string) bool {
	switch key {
	case "up", "k":
		s.top--
	case "down", "j":
		s.top++
	case "pgup", "ctrl+b", ",":
		s.top -= max(1, s.seen-1)
	case "pgdown", "ctrl+f", ".", "space":
		s.top += max(1, s.seen-1)
	case "home", "g", "<":
		s.top = 0
	case "end", "G", ">":
		s.top = s.rows
	default:
		return false
	}
	s.top = max(0, min(s.top, s.rows-s.seen))
	return true
}

// part says which rows are seen of a list, "" if all.
func (s *scroll) part(rows, seen int) string {
	s.rows, s.seen = rows, max(0, seen)
	s.top = max(0, min(s.top, rows-s.seen))
	if rows <= seen {
		return ""
	}
	return fmt.Sprintf("%s–%s of %s  ↑↓", number(s.top+1), number(min(rows, s.top+s.seen)), number(rows))
}

// A help lists the keys.
type help struct{ scroll scroll }

func (d *help) press(m *model, key, _ string) tea.Cmd {
	if !d.scroll.press(key) {
		m.dialog = nil
	}
	return nil
}

func (d *help) draw(_ *model, w, h int) (frame, []string) {
	var rows []string
	for i, s := range bindings() {
		if i > 0 {
			rows = append(rows, row(w, usual))
		}
		rows = append(rows, row(w, usual, span{" " + s.title, special}))
		for _, b := range s.list {
			if b.name == "" {
				continue
			}
			for i, text := range wrap(b.does, w-14) {
				keys := b.name
				if i > 0 {
					keys = ""
				}
				rows = append(rows, row(w, usual, span{"  " + pad(keys, 10) + " ", strong}, span{text, usual}))
			}
		}
	}
	rows = append(rows, row(w, usual))
	for i, l := range signs {
		if i == 0 {
			rows = append(rows, row(w, usual, span{" Signs", special}))
		}
		rows = append(rows, row(w, usual, span{"  " + pad(l.node.text, 10) + " ", l.node.look}, span{l.means, usual}))
	}
	foot := d.scroll.part(len(rows), h)
	return frame{title: "Keys", foot: strings.TrimSpace(foot + "  Esc closes"), focused: true}, rows[d.scroll.top:min(len(rows), d.scroll.top+h)]
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

// A busy dialog says what is under way.
type busy struct {
	title   string
	begun   time.Time
	leaving bool
}

func (d *busy) press(m *model, key, _ string) tea.Cmd {
	if key == "esc" || key == "ctrl+c" {
		d.leaving = true
		m.stopDeed()
	}
	return nil
}

func (d *busy) draw(m *model, w, _ int) (frame, []string) {
	text := "…"
	if p := m.back.progress(); p != nil && m.now().Sub(d.begun) > 200*time.Millisecond {
		text = p.Step + " " + number(p.Done)
		if p.Total > 0 {
			text += " of " + number(p.Total)
		}
	}
	if d.leaving {
		text = "stopping…"
	}
	if m.now().Sub(d.begun) > 3*time.Second && !d.leaving && text == "…" {
		text = "still at it; another process may be using the store"
	}
	return frame{title: d.title, foot: "Esc stops", focused: true}, []string{row(w, usual), row(w, usual, span{" " + text, faint}), row(w, usual)}
}

// An ask dialog asks for a text.
type ask struct {
	title, label string
	field        field
	then         func(string) tea.Cmd
}

func (d *ask) press(m *model, key, text string) tea.Cmd {
	switch key {
	case "enter":
		m.dialog = nil
		return d.then(d.field.String())
	case "esc", "ctrl+c":
		m.dialog = nil
	default:
		d.field.press(key, text)
	}
	return nil
}

func (d *ask) draw(_ *model, w, _ int) (frame, []string) {
	before := span{" " + d.label + ": ", faint}
	spans := d.field.spans()
	for room := w - width(before.text) - 2; width(spans[0].text) > max(room, 4); {
		spans[0].text = "…" + cutLeft(spans[0].text, width(spans[0].text)-max(room, 4)+1)
	}
	return frame{title: d.title, foot: "Enter does it · Esc does not", focused: true}, []string{row(w, usual), row(w, usual, append([]span{before}, spans...)...), row(w, usual)}
}

// A question shows what a deed will do, and asks whether it may.
type question struct {
	deed   deed
	plan   *engine.Diff
	anew   bool
	scroll scroll
	order  []int // of the changes: deletions first
	lost   int   // how many are deletions
}

func newQuestion(msg planned) *question {
	q := &question{deed: msg.deed, plan: msg.plan, anew: msg.anew}
	var others []int
	for i, c := range msg.plan.Changes {
		if c.Status() == 'D' {
			q.order = append(q.order, i)
		} else {
			others = append(others, i)
		}
	}
	q.lost = len(q.order)
	q.order = append(q.order, others...)
	return q
}

func (d *question) press(m *model, key, _ string) tea.Cmd {
	switch key {
	case "y", "Y":
		return m.carry(d.deed, d.plan)
	case "n", "N", "esc", "q", "ctrl+c", "enter":
		m.dialog, m.toast = nil, span{"nothing was changed", careful}
	default:
		d.scroll.press(key)
	}
	return nil
}

func (d *question) draw(_ *model, w, h int) (frame, []string) {
	var rows []string
	say := func(l look, text string) {
		for _, t := range wrap(text, w-2) {
			rows = append(rows, row(w, usual, span{" " + t, l}))
		}
	}
	if d.anew {
		say(danger, "The files have changed since this was shown. Now it would do this:")
	}
	if d.deed.of != "" {
		say(usual, d.deed.of)
	}
	if d.plan.Unfinished != nil {
		say(danger, "! "+line(d.plan.Unfinished.Error()))
	}
	n := len(d.plan.Changes)
	spans := []span{{" writes " + count(n-d.lost, "path"), good}, {", ", usual}, {"deletes " + count(d.lost, "path"), map[bool]look{true: danger, false: good}[d.lost > 0]}}
	if k := len(d.plan.Kept) + len(d.plan.Conflicts); k > 0 {
		spans = append(spans, span{", leaves " + count(k, "path") + " as they are", careful})
	}
	rows = append(rows, row(w, usual, spans...), row(w, usual))
	below := []string{row(w, usual), row(w, usual, span{" What is there now is recorded first. ", faint}, span{d.deed.back, strong}, span{" takes it back.", faint})}
	all := n + len(d.plan.Kept) + len(d.plan.Conflicts) + len(d.deed.lines)
	room := max(1, h-len(rows)-len(below))
	foot := d.scroll.part(all, room)
	for i := d.scroll.top; i < min(all, d.scroll.top+room); i++ {
		rows = append(rows, d.line(w, i))
	}
	return frame{title: d.deed.title + "?", foot: strings.TrimSpace("y yes · n no  " + foot), focused: true}, append(rows, below...)
}

// line draws the row of a change, of a path that stays, or of a line of a file.
func (d *question) line(w, i int) string {
	if i < len(d.order) {
		return row(w, usual, willBe(d.plan.Changes[d.order[i]])...)
	}
	if i -= len(d.order); i < len(d.plan.Kept) {
		return row(w, usual, stays("= keep    ", d.plan.Kept[i], faint)...)
	}
	if i -= len(d.plan.Kept); i < len(d.plan.Conflicts) {
		return row(w, usual, stays("! conflict", d.plan.Conflicts[i], danger)...)
	}
	return drawLine(w, d.deed.lines[i-len(d.plan.Conflicts)], span{"   ", usual}, lineLook{})
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

// stays names a path that is left as it is.
func stays(sign string, n engine.Note, l look) []span {
	return []span{{" " + sign + " ", l}, {name(string(n.Path)), usual}, {": " + line(n.Reason), faint}}
}

// A told dialog says what was done, or went wrong.
type told struct {
	title  string
	lines  [][]span
	scroll scroll
}

func (d *told) press(m *model, key, _ string) tea.Cmd {
	if key == "space" || !d.scroll.press(key) {
		m.dialog = nil
	}
	return nil
}

func (d *told) draw(_ *model, w, h int) (frame, []string) {
	var rows []string
	for _, spans := range d.lines {
		text := textOf(spans)
		if width(text) <= w {
			rows = append(rows, row(w, usual, spans...))
			continue
		}
		for i, t := range wrap(text, w-3) {
			rows = append(rows, row(w, usual, span{strings.Repeat("  ", min(i, 1)), usual}, span{t, spans[0].look}))
		}
	}
	foot := d.scroll.part(len(rows), h)
	return frame{title: d.title, foot: strings.TrimSpace(foot + "  Esc closes"), focused: true}, rows[d.scroll.top:min(len(rows), d.scroll.top+h)]
}

func (d *told) say(l look, text string) { d.lines = append(d.lines, []span{{" " + text, l}}) }
