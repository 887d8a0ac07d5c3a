package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// A binding is what a key does.
type binding struct {
	keys []string
	name string // of the keys, as the help says it
	does string // what the help says
	hint string // what the last row says; "": nothing
	do   func(*model) tea.Cmd
}

// A section is what belongs together in the help.
type section struct {
	title string
	list  []binding
}

// bindings returns all keys outside of dialogs. The help and the hints are made of them.
func bindings() []section {
	return []section{
		{"Move", []binding{
			{[]string{"up", "k"}, "↑ k", "a row up", "", by(-1)},
			{[]string{"down", "j"}, "↓ j", "a row down", "", by(1)},
			{[]string{"pgup", "ctrl+b", ","}, "PgUp ,", "a page up", "", pages(-1)},
			{[]string{"pgdown", "ctrl+f", "."}, "PgDn .", "a page down", "", pages(1)},
			{[]string{"home", "g", "<"}, "Home g <", "to the top", "", by(-1 << 30)},
			{[]string{"end", "G", ">"}, "End G >", "to the bottom", "", by(1 << 30)},
			{[]string{"right", "l", "tab"}, "→ l Tab", "to the next pane", "", to(1)},
			{[]string{"left", "h", "shift+tab"}, "← h", "to the pane before", "", to(-1)},
			{[]string{"1"}, "1 2 3", "to the timeline, the files, the lines", "", at(paneTimeline)},
			{[]string{"2"}, "", "", "", at(paneFiles)},
			{[]string{"3"}, "", "", "", at(panePatch)},
			{[]string{"]", "n"}, "] n", "to the next hunk", "", func(m *model) tea.Cmd { m.reading.jump(1); return nil }},
			{[]string{"[", "N"}, "[ N", "to the hunk before", "", func(m *model) tea.Cmd { m.reading.jump(-1); return nil }},
			{[]string{"L"}, "H L", "the lines to the left, to the right", "", sideways(8)},
			{[]string{"H"}, "", "", "", sideways(-8)},
		}},
		{"Look", []binding{
			{[]string{"/"}, "/", "filter the timeline as you type: words of labels, prompts, files, ids, pins", "filter", (*model).startFilter},
			{[]string{"d"}, "d", "what a snapshot changed, or what changed since it", "compare", (*model).turnSides},
			{[]string{"enter"}, "Enter", "into the row: open a session or directory, go to its lines", "", (*model).enter},
			{[]string{"space"}, "Space", "fold or open a session or directory", "", (*model).fold},
			{[]string{"-", "="}, "-", "fold or open all sessions", "", func(m *model) tea.Cmd { return m.folding(true) }},
			{[]string{"+", "_"}, "+", "one pane on the whole screen, or all", "", func(m *model) tea.Cmd { m.zoom = !m.zoom; return nil }},
			{[]string{"a"}, "a", "snapshots of other worktrees and systems too", "", (*model).turnAll},
			{[]string{"R"}, "R", "look at everything again", "", (*model).refresh},
			{[]string{"y"}, "y", "copy the id of the snapshot", "", (*model).copyID},
		}},
		{"Change", []binding{
			{[]string{"r"}, "r", "restore what is chosen: a snapshot, a directory or a file of it, or a hunk", "restore", (*model).restore},
			{[]string{"t"}, "t", "revert: take back what the snapshot changed, as a whole or at a path, and keep all later edits", "revert", (*model).revert},
			{[]string{"z", "u"}, "z", "undo the last restore or revert", "undo", func(m *model) tea.Cmd { return m.takeBack(false) }},
			{[]string{"Z", "U", "ctrl+r"}, "Z", "redo the last undo", "redo", func(m *model) tea.Cmd { return m.takeBack(true) }},
			{[]string{"c"}, "c", "record the files as they are, with a label", "record", (*model).askRecord},
			{[]string{"p"}, "p", "pin the snapshot: no prune drops it", "pin", (*model).askPin},
			{[]string{"P"}, "P", "take a pin away", "", (*model).askUnpin},
			{[]string{"m"}, "m", "mark the snapshot with a label: it is found by it", "", (*model).askLabel},
			{[]string{"M"}, "M", "take a label away", "", (*model).askUnlabel},
			{[]string{"f"}, "f", "fork: a second directory of the snapshot", "", (*model).askFork},
		}},
		{"Other", []binding{
			{[]string{"?", "f1"}, "?", "this help", "help", func(m *model) tea.Cmd { m.dialog = help(); return nil }},
			{[]string{"esc"}, "Esc", "back: out of the filter, the pane", "", (*model).escape},
			{[]string{"ctrl+z"}, "Ctrl-Z", "to the shell for a while (fg comes back)", "", func(*model) tea.Cmd { return tea.Suspend }},
			{[]string{"q", "ctrl+c"}, "q", "quit", "quit", func(*model) tea.Cmd { return tea.Quit }},
		}},
	}
}

// press does what a key is for: in the dialog, in the filter, else by the table.
func (m *model) press(key, text string) tea.Cmd {
	if m.dialog != nil {
		return m.take(m.dialog, key, text)
	}
	if m.typing {
		return m.filterKey(key, text)
	}
	m.toast = span{}
	for _, s := range bindings() {
		for _, b := range s.list {
			if slices.Contains(b.keys, key) {
				return b.do(m)
			}
		}
	}
	return nil
}

// move moves in the pane that has the keys.
func (m *model) move(by int) tea.Cmd { return m.moveIn(m.focus, by) }

func (m *model) moveIn(p pane, by int) tea.Cmd {
	before := m.timeline.chosen()
	c, rows := m.cursorOf(p)
	at := c.at
	c.move(by, rows)
	switch {
	case p == paneTimeline:
		return m.chosenAnew(before)
	case p == paneFiles && at != c.at:
		return m.read()
	}
	return nil
}

func by(rows int) func(*model) tea.Cmd { return func(m *model) tea.Cmd { return m.move(rows) } }

func pages(n int) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd { return m.move(n * max(1, m.layout().pane[m.focus].h-3)) }
}

func to(step int) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		m.focus = (m.focus + pane(step) + panes) % panes
		return nil
	}
}

func at(p pane) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd { m.focus = p; return nil }
}

func sideways(by int) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd { m.reading.shift = max(0, m.reading.shift+by); return nil }
}

// startFilter lets the keys go to the filter.
func (m *model) startFilter() tea.Cmd {
	m.focus, m.typing = paneTimeline, true
	m.filter.put(m.timeline.filter)
	return nil
}

// filterKey takes a key while the filter is typed.
func (m *model) filterKey(key, text string) tea.Cmd {
	before := m.timeline.chosen()
	switch key {
	case "enter":
		m.typing = false
	case "esc", "ctrl+c":
		m.typing = false
		m.filter.put("")
	case "up", "down", "pgup", "pgdown":
		m.typing = false
		return m.press(key, text)
	default:
		m.filter.press(key, text)
	}
	if m.timeline.filter != m.filter.String() {
		m.timeline.filter = m.filter.String()
		m.timeline.arrange()
	}
	return m.chosenAnew(before)
}

// turnSides changes what snapshots are compared with.
func (m *model) turnSides() tea.Cmd {
	m.since = !m.since
	return m.compare()
}

// turnAll lists those of other worktrees and systems too, or not any more.
func (m *model) turnAll() tea.Cmd {
	m.timeline.all = !m.timeline.all
	return m.list(0)
}

// enter goes into the chosen row.
func (m *model) enter() tea.Cmd {
	switch m.focus {
	case paneTimeline:
		if s := m.timeline.chosen(); s.group != nil && s.moment == nil {
			return m.folding(false)
		}
		m.focus = paneFiles
	case paneFiles:
		if e := m.files.chosen(); e != nil && len(e.below) > 0 && e.path != "" {
			m.files.fold()
			return nil
		}
		m.focus = panePatch
	}
	return nil
}

func (m *model) fold() tea.Cmd {
	if m.focus == paneTimeline {
		return m.folding(false)
	}
	m.files.fold()
	return nil
}

func (m *model) folding(all bool) tea.Cmd {
	before := m.timeline.chosen()
	m.timeline.fold(all)
	return m.chosenAnew(before)
}

// escape goes one step back: out of the pane, or of the filter.
func (m *model) escape() tea.Cmd {
	switch {
	case m.focus != paneTimeline:
		m.focus--
	case m.timeline.filter != "":
		return m.filterKey("esc", "")
	case m.zoom:
		m.zoom = false
	}
	return nil
}

func (m *model) copyID() tea.Cmd {
	s := m.timeline.shown()
	if s == nil {
		return nil
	}
	m.toast = span{"copied " + short(s.ID), accent}
	return tea.SetClipboard(s.ID.String())
}

// wheel scrolls the pane below the mouse.
func (m *model) wheel(e tea.Mouse) tea.Cmd {
	step := 3
	if e.Button == tea.MouseWheelUp {
		step = -3
	} else if e.Button != tea.MouseWheelDown {
		return nil
	}
	if m.dialog != nil {
		m.dialog.top += step
		return nil
	}
	l := m.layout()
	if p, _, ok := l.at(e.X, e.Y); ok {
		return m.moveIn(p, step)
	}
	return nil
}

// click chooses the row below the mouse; once more, it goes into that.
func (m *model) click(e tea.Mouse) tea.Cmd {
	if m.dialog != nil || e.Button != tea.MouseLeft {
		return nil
	}
	m.typing, m.toast = false, span{}
	l := m.layout()
	p, in, ok := l.at(e.X, e.Y)
	if !ok {
		return nil
	}
	again := m.focus == p
	m.focus = p
	c, rows := m.cursorOf(p)
	row := c.top + e.Y - in.y
	switch {
	case !in.has(e.X, e.Y) || row >= rows:
		return nil
	case row == c.at && again && p != panePatch:
		return m.enter()
	}
	return m.move(row - c.at)
}

// cursorOf returns the place in a pane, and how many rows it has.
func (m *model) cursorOf(p pane) (*cursor, int) {
	switch p {
	case paneTimeline:
		return &m.timeline.cursor, len(m.timeline.stops)
	case paneFiles:
		return &m.files.cursor, len(m.files.rows)
	}
	return &m.reading.cursor, len(m.reading.patch.lines)
}
