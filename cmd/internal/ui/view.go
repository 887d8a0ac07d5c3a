package ui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// View draws the screen.
func (m *model) View() tea.View {
	content := ""
	if m.w > 1 { // a column of one cell confuses the renderer for good
		content = strings.Join(m.screen(), "\n")
	}
	v := tea.NewView(content)
	v.AltScreen, v.MouseMode, v.ReportFocus = true, tea.MouseModeCellMotion, true
	v.WindowTitle = "rewind " + m.root()
	return v
}

// root is the name of the worktree's directory.
func (m *model) root() string {
	if m.back.engine == nil {
		return "worktree"
	}
	return name(filepath.Base(m.back.engine.Root()))
}

func (m *model) layout() layout { return arrange(m.w, m.h, m.focus, m.zoom) }

// screen is every row, each as wide as the terminal.
func (m *model) screen() []string {
	if m.w <= 0 || m.h <= 0 {
		return nil
	}
	l := m.layout()
	if l.small {
		rows := []string{row(m.w, usual, span{"too small", careful})}
		for range m.h - 1 {
			rows = append(rows, row(m.w, usual))
		}
		return rows
	}
	type part struct {
		x    int
		text string
	}
	parts := make([][]part, m.h)
	place := func(r rect, draw func(rect) []string) {
		if r.w == 0 {
			return
		}
		for i, text := range draw(r) {
			if y := r.y + i; y < m.h {
				parts[y] = append(parts[y], part{r.x, text})
			}
		}
	}
	place(l.pane[paneTimeline], m.drawTimeline)
	place(l.about, m.drawAbout)
	place(l.pane[paneFiles], m.drawFiles)
	place(l.pane[panePatch], m.drawPatch)
	place(l.foot, m.drawFoot)
	var rows []string
	for _, p := range parts {
		slices.SortFunc(p, func(a, b part) int { return a.x - b.x })
		var b strings.Builder
		for _, s := range p {
			b.WriteString(s.text)
		}
		rows = append(rows, b.String())
	}
	if m.dialog != nil {
		m.lay(rows)
	}
	return rows
}

// lay draws the dialog in the place of the rows in the middle of the screen.
func (m *model) lay(rows []string) {
	f, inner := m.dialog.draw(m.w-2, max(3, m.h-4)-2)
	h := min(len(inner)+2, m.h)
	copy(rows[(m.h-h)/2:], f.box(rect{w: m.w, h: h}, inner))
}

func (m *model) drawTimeline(r rect) []string {
	in := r.inside()
	f := frame{title: m.root(), focused: m.focus == paneTimeline && m.dialog == nil}
	if m.timeline.filter != "" && !m.typing {
		f.title += " /" + line(m.timeline.filter)
	}
	if m.timeline.all {
		f.title += " · all worktrees"
	}
	if n := m.timeline.found; m.loaded {
		f.foot = count(n, "snapshot")
		if m.timeline.past.part {
			f.foot += " and more"
		}
		if m.timeline.filter != "" {
			f.foot = fmt.Sprintf("%s of %s", number(n), number(len(m.timeline.past.moments)))
		}
	}
	var rows []string
	if m.typing {
		rows = append(rows, row(in.w, usual, append([]span{{" /", special}}, m.filter.spans()...)...))
		in.h--
	}
	if text := m.emptiness(); text.text != "" {
		return f.box(r, append(rows, instead(in, text)...))
	}
	return f.box(r, append(rows, m.timeline.draw(in, m.lookOf(paneTimeline), m.now())...))
}

// emptiness is what the timeline says where it has nothing to show.
func (m *model) emptiness() span {
	switch {
	case m.failed != nil:
		return span{"! " + line(m.failed.Error()), bad}
	case !m.loaded:
		return span{"reading…", faint}
	case len(m.timeline.past.moments) == 0:
		return span{"No snapshot yet. c records the files as they are; a lists those of other worktrees and systems.", usual}
	case len(m.timeline.stops) == 0:
		return span{"no snapshot has these words", faint}
	}
	return span{}
}

// lookOf is the look of the chosen row of a pane.
func (m *model) lookOf(p pane) look {
	if m.focus == p {
		return m.selected
	}
	return marked
}

func (m *model) drawFiles(r rect) []string {
	f := frame{title: m.sides(), focused: m.focus == paneFiles && m.dialog == nil}
	if m.files.waiting {
		f.foot = "comparing…"
	}
	if !m.loaded || len(m.timeline.past.moments) == 0 {
		return f.box(r, nil)
	}
	return f.box(r, m.files.draw(r.inside(), m.lookOf(paneFiles)))
}

// sides says what is compared with what.
func (m *model) sides() string {
	s := m.timeline.shown()
	switch {
	case s == nil:
		return "Changed since the last snapshot or restore"
	case m.since:
		return "Changed since " + short(s.ID) + ", in the files now"
	}
	return "What " + short(s.ID) + " changed"
}

func (m *model) drawPatch(r rect) []string {
	p := m.reading.patch
	f := frame{title: "Lines", focused: m.focus == panePatch && m.dialog == nil}
	if e := m.files.chosen(); e != nil && e.path != "" {
		f.title = name(e.path)
	}
	if p.added+p.removed > 0 {
		f.title += fmt.Sprintf("  +%s −%s", number(p.added), number(p.removed))
	}
	if n := m.reading.hunk(); n >= 0 && f.focused {
		f.foot = fmt.Sprintf("hunk %d of %d", n+1, len(p.hunks))
	}
	if m.reading.waiting {
		f.foot = "reading…"
	}
	return f.box(r, m.reading.draw(r.inside(), f.focused))
}

// drawAbout says what is known of the chosen snapshot.
func (m *model) drawAbout(r rect) []string {
	w := r.w - 2
	t := m.timeline.momentOf()
	if t == nil {
		text := "the files as they are"
		if b := m.timeline.past.branch; b != "" {
			text += ", on branch " + line(b)
		}
		root := ""
		if m.back.engine != nil {
			root = name(m.back.engine.Root())
		}
		return frame{title: "Now"}.box(r, []string{row(w, usual, span{" " + text, usual}), row(w, usual, span{" " + root, faint})})
	}
	s := t.snapshot
	facts := []string{s.Time.Local().Format("Mon 2 Jan 2006 15:04:05"), show.Age(m.now().Sub(s.Time))}
	if s.Branch != "" {
		facts = append(facts, "on "+line(s.Branch))
	}
	if t.agent != "" {
		facts = append(facts, t.agent)
	}
	if n := len(s.Skipped); n > 0 {
		facts = append(facts, count(n, "path")+" left out")
	}
	title := append([]span{{" ", usual}}, t.title...)
	if next := t.prompt(true); next != nil && textOf(next) != textOf(t.title) {
		title = append(append(title, span{", ", faint}), next...)
	}
	return frame{title: short(s.ID)}.box(r, []string{row(w, usual, title...), row(w, usual, span{" " + strings.Join(facts, " · "), faint})})
}

// drawFoot is the last row: what was said last, or what keys there are.
func (m *model) drawFoot(r rect) []string {
	if m.toast.text != "" {
		return []string{row(r.w, usual, span{" " + m.toast.text, m.toast.look})}
	}
	if m.typing {
		return []string{row(r.w, usual, span{" type to filter · Enter keeps it · Esc shows all", faint})}
	}
	spans, right := []span{{" ", usual}}, []span{}
	all := bindings()
	for _, b := range all[3].list {
		if b.hint != "" {
			right = append(right, span{"  " + b.name, accent}, span{" " + b.hint, faint})
		}
	}
	left := r.w - 1 - width(textOf(right))
	for _, b := range append(all[2].list, all[1].list...) {
		if b.hint == "" {
			continue
		}
		if left -= width(b.name) + width(b.hint) + 3; left < 0 {
			break
		}
		spans = append(spans, span{b.name, accent}, span{" " + b.hint + "  ", faint})
	}
	return []string{sides(r.w, usual, append(right, span{" ", usual}), spans...)}
}
