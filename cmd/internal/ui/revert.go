package ui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
)

// revert plans to take back what the chosen snapshot changed, as a whole or at the
// chosen path, and to keep every later edit.
func (m *model) revert() tea.Cmd {
	s, path := m.timeline.shown(), ""
	if m.focus != paneTimeline {
		of, known := m.snapshotOfFiles()
		e := m.files.chosen()
		if !known || e == nil || m.since {
			m.toast = span{"d shows what the snapshot changed: that is what t takes back", careful}
			return nil
		}
		s, path = of, e.path
	}
	if s == nil {
		m.toast = span{"choose the snapshot of a turn to take that back", careful}
		return nil
	}
	return m.plan(m.reverting(s, path))
}

// reverting is the deed of a revert, of one path and what lies below it, or of all
// that a snapshot changed.
func (m *model) reverting(s *engine.Snapshot, path string) deed {
	e := m.back.engine
	d := deed{
		title: "Revert what " + short(s.ID) + " changed", did: "reverted", back: "z",
		of: "every later edit stays, yours too; what cannot be merged is left and named",
		op: engine.Op{Verb: "revert", Label: "without " + short(s.ID)},
	}
	if path != "" {
		d.op.Paths = []string{":(literal)" + path}
		d.of = "only " + name(path) + "; " + d.of
	}
	d.ready = func(ctx context.Context, op *engine.Op) error {
		before, err := e.Before(ctx, s)
		if err == nil && before == nil {
			err = fmt.Errorf("%s is the first of its worktree: there is nothing before it to compare it with", short(s.ID))
		}
		if err == nil {
			op.Spans = []engine.Span{{From: s.ID, To: before.ID}}
		}
		return err
	}
	return d
}
