package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
)

// A model is all that the screen shows. Nothing in it waits: what takes time runs
// in the background, and comes back as a message.
type model struct {
	back     *backstage
	now      func() time.Time
	selected look // of the row that keys act on
	w, h     int

	focus    pane
	zoom     bool
	since    bool // snapshots are compared with the present, else with the one before
	timeline timeline
	files    files
	reading  reading
	filter   field
	typing   bool     // the keys go to the filter
	dialog   *dialog  // nil: none
	toast    span     // what is said at the bottom until the next key
	finished [][]span // an interrupted restore, of which nobody was told yet
	loaded   bool
	first    int   // how many snapshots are read before all others
	opened   bool  // what the first screen does not need was begun
	failed   error // why there is no timeline
	store    polled

	lists, compares, reads, deeds job
}

func newModel(b *backstage) *model {
	m := &model{back: b, now: time.Now, selected: chosen, first: firstPage}
	m.timeline.folded, m.timeline.edited = map[string]bool{}, -1
	return m
}

// Init begins with the newest snapshots.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.list(m.first), tea.Tick(openWithin, func(time.Time) tea.Msg { return late{} }))
}

// open begins what the first screen does not need, when that is there: with one
// processor or two the rest would take them away from it.
func (m *model) open() tea.Cmd {
	if m.opened || !m.loaded {
		return nil
	}
	m.opened = true
	cmds := []tea.Cmd{m.poll("")}
	if m.failed == nil && m.timeline.past.part {
		cmds = append(cmds, m.list(0))
	} else if m.failed == nil && !m.timeline.chosen().present() {
		cmds = append(cmds, m.look())
	}
	return tea.Batch(cmds...)
}

// Update takes up what happened.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		return m, tea.ClearScreen // the terminal may have moved what was drawn
	case tea.KeyPressMsg:
		return m, m.press(msg.String(), msg.Text)
	case tea.PasteMsg:
		return m, m.press("", msg.Content)
	case tea.MouseWheelMsg:
		return m, m.wheel(tea.Mouse(msg))
	case tea.MouseClickMsg:
		return m, m.click(tea.Mouse(msg))
	case tea.FocusMsg:
		return m, m.refresh()
	case answer:
		if msg.turn == msg.of.turn {
			return m.Update(msg.msg)
		}
	case listed:
		return m, m.takeList(msg)
	case compared:
		return m, m.takeDifference(msg)
	case patched:
		m.reading.set(msg.patch, msg.err, m.reading.next)
		return m, m.open()
	case late:
		return m, m.open()
	case edited:
		m.timeline.edited = msg.paths
	case polled:
		return m, m.takePoll(msg)
	case beat:
		if m.dialog != nil && m.dialog.busy {
			return m, tick()
		}
	case planned:
		return m, m.takePlan(msg)
	case recovered:
		return m, m.takeRecovered(msg)
	case outcome:
		return m, m.takeOutcome(msg)
	}
	return m, nil
}

// takeList takes over the timeline, and reads the rest of it.
func (m *model) takeList(msg listed) tea.Cmd {
	if m.failed = msg.err; msg.err != nil {
		m.loaded = true
		return m.open()
	}
	before := m.timeline.chosen()
	first := !m.loaded
	m.loaded = true
	m.timeline.set(msg.past)
	if first {
		m.timeline.newest()
	}
	if d := msg.past.damage; d != nil {
		m.toast = span{"! " + line(d.Error()), danger}
	}
	if first {
		return m.compare()
	}
	var cmds []tea.Cmd
	if msg.past.part {
		cmds = append(cmds, m.list(0))
	} else if !m.timeline.chosen().present() {
		cmds = append(cmds, m.look())
	}
	if !before.same(m.timeline.chosen()) || m.timeline.chosen().present() || m.since {
		cmds = append(cmds, m.compare())
	}
	return tea.Batch(cmds...)
}

// takeDifference takes over the changes, and reads the lines of the first.
func (m *model) takeDifference(msg compared) tea.Cmd {
	m.files.set(msg.difference, msg.root, msg.err)
	if m.files.of == nil && msg.err == nil {
		m.timeline.edited = len(msg.difference.Changes)
	}
	if msg.err == nil && msg.difference.Unfinished != nil {
		m.toast = span{"! " + line(msg.difference.Unfinished.Error()), danger}
	}
	if next := m.read(); next != nil {
		return next
	}
	return m.open()
}

// takePoll reads all again when somebody has changed the store.
func (m *model) takePoll(msg polled) tea.Cmd {
	before := m.store
	m.store = msg
	next := m.poll(msg.path)
	if before.path == "" || before.stamp == msg.stamp {
		return next
	}
	return tea.Batch(next, m.list(0))
}

// refresh looks at everything again.
func (m *model) refresh() tea.Cmd {
	if !m.loaded {
		return nil
	}
	return tea.Batch(m.list(0), m.compare())
}

// chosenAnew is called when another row of the timeline was chosen.
func (m *model) chosenAnew(before stop) tea.Cmd {
	if before.same(m.timeline.chosen()) {
		return nil
	}
	return m.compare()
}

// snapshotOfFiles returns the snapshot whose changes are shown, false while they are
// still looked for.
func (m *model) snapshotOfFiles() (*engine.Snapshot, bool) {
	return m.files.of, !m.files.waiting && m.files.err == nil
}
