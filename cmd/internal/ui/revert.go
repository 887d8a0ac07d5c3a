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
	e, opt := m.back.engine, &engine.RestoreOptions{Label: "without " + short(s.ID)}
	d := deed{
		title: "Revert what " + short(s.ID) + " changed", did: "reverted", back: "z",
		of: "every later edit stays, yours too; what cannot be merged is left and named",
	}
	if path != "" {
		opt.Paths = []string{":(literal)" + path}
		d.of = "only " + name(path) + "; " + d.of
	}
	spans := func(ctx context.Context) ([]engine.Span, error) {
		before, err := e.Before(ctx, s)
		if err == nil && before == nil {
			err = fmt.Errorf("%s is the first of its worktree: there is nothing before it to compare it with", short(s.ID))
		}
		if err != nil {
			return nil, err
		}
		return []engine.Span{{From: s.ID, To: before.ID}}, nil
	}
	d.plan = func(ctx context.Context) (*engine.Plan, error) {
		list, err := spans(ctx)
		if err != nil {
			return nil, err
		}
		return e.PlanMerge(ctx, list, opt)
	}
	d.carry = func(ctx context.Context) (*engine.Restored, error) {
		list, err := spans(ctx)
		if err != nil {
			return nil, err
		}
		return e.Merge(ctx, "revert", list, opt)
	}
	return d
}
