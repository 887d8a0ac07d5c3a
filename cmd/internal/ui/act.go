package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
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
	}
	// An outcome is what was done: a line at the bottom, or where there is more to say a
	// dialog.
	outcome struct {
		title string
		lines [][]span
		whole bool // one line is a dialog too: it has to be read, or does not fit at the bottom
	}
	// recovered: what an interrupted restore came to, which was finished on the way.
	recovered struct{ *engine.Restored }
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
			return m.say("the present is what is there already: choose a snapshot")
		}
		return m.plan(m.restoring(s, nil))
	}
	s, known := m.snapshotOfFiles()
	e := m.files.chosen()
	switch {
	case !known:
		return m.say("still comparing")
	case e == nil:
		return nil
	case s == nil:
		if s = m.here(); s == nil {
			return m.say("there is no snapshot yet to restore from")
		}
	}
	return m.plan(m.restoring(s, e))
}

// say says why nothing is done.
func (m *model) say(text string) tea.Cmd {
	m.toast = span{text, careful}
	return nil
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

// restoring is the deed of a restore, of what an entry is, or of everything.
func (m *model) restoring(s *engine.Snapshot, e *entry) deed {
	d := deed{title: "Restore " + short(s.ID), back: "z", of: "everything", op: engine.Op{To: s.ID}}
	if paths, what := pathsOf(e); paths != nil {
		d.op.Paths, d.of = paths, what
	}
	if s.Branch != "" && s.Branch != m.timeline.past.branch {
		d.of += ", recorded on branch " + line(s.Branch)
		if now := m.timeline.past.branch; now != "" {
			d.of += " (the present branch is " + line(now) + ")"
		}
	}
	return d
}

// pathsOf are the paths that a deed at an entry is about, also those that something in it
// had before, and what that is in a few words; none: everything.
func pathsOf(e *entry) (paths []string, what string) {
	if e == nil || e.path == "" {
		return nil, ""
	}
	paths, what = []string{":(literal)" + e.path}, "only "+name(e.path)
	olds := e.olds()
	for _, old := range olds {
		paths = append(paths, ":(literal)"+old)
	}
	switch {
	case e.old != nil:
		what = "only " + name(renamed(string(e.old.Path), e.path))
	case len(olds) > 0:
		what += ", and " + count(len(olds), "old name") + " outside of it"
	}
	return paths, what
}

// takeBack plans an undo, or a redo.
func (m *model) takeBack(redo bool) tea.Cmd {
	d := deed{title: "Undo the last restore", back: "Z", op: engine.Op{Verb: engine.Undo}}
	if redo {
		d.title, d.back, d.op.Verb = "Redo the last undo", "z", engine.Redo
	}
	return m.plan(d)
}

// revert plans to take back what the chosen snapshot changed, as a whole or at the
// chosen path, and to keep every later edit.
func (m *model) revert() tea.Cmd {
	s := m.timeline.shown()
	var at *entry
	if m.focus != paneTimeline {
		of, known := m.snapshotOfFiles()
		e := m.files.chosen()
		if !known || e == nil || m.since {
			return m.say("d shows what the snapshot changed: that is what t takes back")
		}
		s, at = of, e
	}
	if s == nil {
		return m.say("choose the snapshot of a turn to take that back")
	}
	return m.plan(m.reverting(s, at))
}

// reverting is the deed of a revert, of what an entry is, or of all that a snapshot
// changed.
func (m *model) reverting(s *engine.Snapshot, at *entry) deed {
	e := m.back.engine
	d := deed{
		title: "Revert what " + short(s.ID) + " changed", did: "reverted", back: "z",
		of: "every later edit stays, yours too; what cannot be merged is left and named",
		op: engine.Op{Verb: "revert", Label: "without " + short(s.ID)},
	}
	if paths, what := pathsOf(at); paths != nil {
		d.op.Paths, d.of = paths, what+"; "+d.of
	}
	d.ready = func(ctx context.Context, op *engine.Op) error {
		before, err := e.Before(ctx, s)
		if err == nil && before == nil {
			err = fmt.Errorf("%s is the first of its worktree: there is nothing before it to compare it with", short(s.ID))
		}
		if err == nil {
			op.Ranges = []engine.Range{{From: s.ID, To: before.ID}}
		}
		return err
	}
	return d
}

// plan looks what a deed would do.
func (m *model) plan(d deed) tea.Cmd {
	return m.start(d.title+": looking at the files", func(ctx context.Context) tea.Msg {
		p, err := d.plan(ctx, m.back.engine)
		return planned{deed: d, plan: p, err: err}
	})
}

// carry carries a deed out that was shown. Where the files have changed meanwhile, it
// is shown again.
func (m *model) carry(d deed, shown *engine.Diff) tea.Cmd {
	return m.start(d.title, func(ctx context.Context) tea.Msg {
		begin := time.Now()
		p, err := d.plan(ctx, m.back.engine)
		if err != nil || !alike(shown, p) {
			return planned{d, p, err, true}
		}
		r, err := m.back.engine.Do(ctx, d.op)
		return tell(d, r, err, time.Since(begin))
	})
}

// start runs something in the background, while a dialog says so.
func (m *model) start(title string, f func(ctx context.Context) tea.Msg) tea.Cmd {
	m.dialog = m.busy(title)
	return tea.Batch(m.back.begin(&m.deeds, f), tick())
}

// alike reports whether two plans change, keep and refuse the same.
func alike(a, b *engine.Diff) bool {
	return slices.Equal(a.Changes, b.Changes) && slices.Equal(a.Kept, b.Kept) && slices.Equal(a.Conflicts, b.Conflicts)
}

// brief is an outcome that one line tells.
func brief(l look, text string) outcome { return outcome{lines: [][]span{said(l, text)}} }

// calledOff is said of what was stopped before it had begun.
var calledOff = brief(careful, "called off; nothing was changed")

// takeOutcome tells what was done, and what was finished before that.
func (m *model) takeOutcome(o outcome) tea.Cmd {
	m.dialog, m.toast = nil, span{}
	if m.finished != nil {
		o.lines, o.whole, m.finished = append(append(m.finished, nil), o.lines...), true, nil
	}
	if len(o.lines) == 1 && !o.whole {
		m.toast = o.lines[0][1]
	} else {
		m.dialog = told(o.title, o.lines...)
	}
	return m.refresh()
}

// takeRecovered tells what was finished, with the outcome of what is under way.
func (m *model) takeRecovered(r recovered) tea.Cmd {
	m.finished = left([][]span{said(careful, show.RecoveredText(r.Restored))}, r.Restored)
	if m.dialog != nil && m.dialog.busy {
		return nil
	}
	return m.takeOutcome(outcome{title: "Finished"})
}

// takePlan shows a plan and asks, or says why there is none. What changes no file is
// carried out at once: the files stand at its target from then on.
func (m *model) takePlan(msg planned) tea.Cmd {
	switch {
	case errors.Is(msg.err, context.Canceled):
		return m.takeOutcome(calledOff)
	case errors.Is(msg.err, engine.ErrNothing):
		return m.takeOutcome(brief(careful, line(msg.err.Error())))
	case msg.err != nil:
		return m.takeOutcome(failure(msg.deed.title, msg.err))
	case len(msg.plan.Changes) == 0 && !msg.anew:
		return m.carry(msg.deed, msg.plan)
	}
	m.dialog = m.question(msg)
	return nil
}
