package ui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
)

// A deed is something that changes files. It is planned, shown, and carried out
// after a yes.
type deed struct {
	title string      // "Restore 3f2a…"
	of    string      // what it is about, in a few words
	did   string      // "reverted"; empty: "restored"
	back  string      // the key that takes it back
	lines []patchLine // what it does to the lines of a file, where it is not of whole files
	op    engine.Op
	ready func(context.Context, *engine.Op) error // completes op by what there is now; nil: it is complete
}

// plan looks what it would do now.
func (d *deed) plan(ctx context.Context, e *engine.Engine) (*engine.Diff, error) {
	if d.ready != nil {
		if err := d.ready(ctx, &d.op); err != nil {
			return nil, err
		}
	}
	return e.Plan(ctx, d.op)
}

// What the background tells of deeds.
type (
	// planned: what a deed would do.
	planned struct {
		deed deed
		plan *engine.Diff
		err  error
		anew bool // the files have changed since it was shown
		turn int
	}
	// done: what a deed has done.
	done struct {
		deed     deed
		restored *engine.Restored
		err      error
		took     time.Duration
	}
	// recorded: a snapshot was asked for.
	recorded struct {
		recorded *engine.Recorded
		err      error
	}
	// settled: something small was done.
	settled struct {
		text string
		err  error
	}
)

// restore plans the restore of what is chosen: a snapshot, what the chosen row of the
// files is, or a hunk.
func (m *model) restore() tea.Cmd {
	if m.focus == panePatch {
		return m.restoreHunk()
	}
	if m.focus == paneTimeline {
		s := m.timeline.shown()
		if s == nil {
			m.toast = span{"the present is what is there already: choose a snapshot", careful}
			return nil
		}
		return m.plan(m.restoring(s, ""))
	}
	s, known := m.snapshotOfFiles()
	e := m.files.chosen()
	switch {
	case !known:
		m.toast = span{"still comparing", careful}
		return nil
	case e == nil:
		return nil
	case s == nil:
		if s = m.here(); s == nil {
			m.toast = span{"there is no snapshot yet to restore from", careful}
			return nil
		}
	}
	return m.plan(m.restoring(s, e.path))
}

// here returns the snapshot at which the files stand, if the timeline has it.
func (m *model) here() *engine.Snapshot {
	for _, t := range m.timeline.past.moments {
		if t.here {
			return t.snapshot
		}
	}
	return nil
}

// restoring is the deed of a restore, of one path and what lies below it, or of
// everything.
func (m *model) restoring(s *engine.Snapshot, path string) deed {
	d := deed{title: "Restore " + short(s.ID), back: "z", of: "everything", op: engine.Op{To: s.ID}}
	if path != "" {
		d.op.Paths = []string{":(literal)" + path}
		d.of = "only " + name(path)
	}
	if s.Branch != "" && s.Branch != m.timeline.past.branch {
		d.of += ", recorded on branch " + line(s.Branch)
		if now := m.timeline.past.branch; now != "" {
			d.of += " (the present branch is " + line(now) + ")"
		}
	}
	return d
}

// takeBack plans an undo, or a redo.
func (m *model) takeBack(redo bool) tea.Cmd {
	d := deed{title: "Undo the last restore", back: "Z", op: engine.Op{Verb: engine.Undo}}
	if redo {
		d.title, d.back, d.op.Verb = "Redo the last undo", "z", engine.Redo
	}
	return m.plan(d)
}

// plan looks what a deed would do.
func (m *model) plan(d deed) tea.Cmd {
	return m.start(d.title+": looking at the files", func(ctx context.Context, turn int) tea.Msg {
		p, err := d.plan(ctx, m.back.engine)
		return planned{deed: d, plan: p, err: err, turn: turn}
	})
}

// carry carries a deed out that was shown. Where the files have changed meanwhile, it
// is shown again.
func (m *model) carry(d deed, shown *engine.Diff) tea.Cmd {
	return m.start(d.title, func(ctx context.Context, turn int) tea.Msg {
		begin := time.Now()
		p, err := d.plan(ctx, m.back.engine)
		if err != nil || !alike(shown, p) {
			return planned{d, p, err, true, turn}
		}
		r, err := m.back.engine.Do(ctx, d.op)
		return done{d, r, err, time.Since(begin)}
	})
}

// start runs something in the background, while a dialog says so.
func (m *model) start(title string, f func(ctx context.Context, turn int) tea.Msg) tea.Cmd {
	m.turns.deed++
	turn := m.turns.deed
	cmd, cancel := m.back.call(func(ctx context.Context) tea.Msg { return f(ctx, turn) })
	m.stopDeed = cancel
	m.dialog = &busy{title: title, begun: m.now()}
	return tea.Batch(cmd, tick())
}

// alike reports whether two plans change, keep and refuse the same.
func alike(a, b *engine.Diff) bool {
	if len(a.Changes) != len(b.Changes) || len(a.Kept) != len(b.Kept) || len(a.Conflicts) != len(b.Conflicts) {
		return false
	}
	for i := range a.Changes {
		if a.Changes[i] != b.Changes[i] {
			return false
		}
	}
	for i := range a.Kept {
		if a.Kept[i] != b.Kept[i] {
			return false
		}
	}
	for i := range a.Conflicts {
		if a.Conflicts[i] != b.Conflicts[i] {
			return false
		}
	}
	return true
}

// takeDeed takes up what the background tells of deeds.
func (m *model) takeDeed(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case planned:
		return m.takePlan(msg)
	case done:
		if errors.Is(msg.err, context.Canceled) && !errors.Is(msg.err, engine.ErrUnfinished) {
			m.dialog, m.toast = nil, calledOff
			return nil
		}
		m.dialog = tell(msg)
		if m.dialog == nil {
			m.toast = span{sayDone(msg), good}
		}
		return m.refresh()
	case recorded:
		m.dialog = tellRecorded(msg)
		if m.dialog == nil {
			m.toast = span{sayRecorded(msg.recorded), good}
		}
		return m.refresh()
	case recovered:
		t := &told{title: "An interrupted restore has been finished"}
		t.restored(msg.restored)
		m.dialog = t
		return m.refresh()
	case forked:
		return m.takeForked(msg)
	case settled:
		m.dialog, m.toast = nil, span{msg.text, good}
		if msg.err != nil {
			m.dialog = failure("That was not done", msg.err)
		}
		return m.list(0)
	}
	return nil
}

// calledOff is said of what was stopped before it had begun.
var calledOff = span{"called off; nothing was changed", careful}

// takePlan shows a plan and asks, or says why there is none. What changes no file is
// carried out at once: the files stand at its target from then on.
func (m *model) takePlan(msg planned) tea.Cmd {
	if msg.turn != m.turns.deed {
		return nil
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		m.dialog, m.toast = nil, calledOff
	case errors.Is(msg.err, engine.ErrNothing):
		m.dialog, m.toast = nil, span{line(msg.err.Error()), careful}
	case msg.err != nil:
		m.dialog = failure(msg.deed.title, msg.err)
		return m.list(0)
	case len(msg.plan.Changes) == 0 && !msg.anew:
		return m.carry(msg.deed, msg.plan)
	default:
		m.dialog = newQuestion(msg)
	}
	return nil
}

// askRecord asks for the label of a snapshot.
func (m *model) askRecord() tea.Cmd {
	e := m.back.engine
	m.dialog = &ask{title: "Record the files as they are", label: "label (may be empty)", then: func(text string) tea.Cmd {
		return m.start("Record the files as they are", func(ctx context.Context, _ int) tea.Msg {
			r, err := e.Snapshot(ctx, &engine.SnapshotOptions{Label: strings.TrimSpace(text)})
			return recorded{r, err}
		})
	}}
	return nil
}
