package show

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// moments are what a list tells beside its snapshots: what was restored, and
// where the files stand.
type moments struct {
	Here *engine.Snapshot
	Ops  []*engine.Operation // newest first
	Kept map[oid.ID]bool     // of what they replaced, the snapshots that are there
	Pins map[oid.ID][]string // the names of what is pinned
}

// MomentsOf reads them.
func MomentsOf(ctx context.Context, e *engine.Engine) (m moments, err error) {
	if m.Here, err = e.Here(ctx); err != nil {
		return m, err
	}
	pins, err := e.Pins(ctx)
	if err != nil {
		return m, err
	}
	m.Pins = map[oid.ID][]string{}
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		m.Pins[pins[name]] = append(m.Pins[pins[name]], name)
	}
	m.Ops, err = e.Operations(ctx)
	return m, err
}

// Chosen leaves to a list only what belongs into it: restores have none of what a
// filter asks for, and one whose undo snapshot was pruned has no name any more.
func (m moments) Chosen(ctx context.Context, e *engine.Engine, l *Listing) moments {
	m.Kept = map[oid.ID]bool{}
	if l.Filtered() {
		m.Ops = nil
	}
	var ids []oid.ID
	for _, op := range m.Ops {
		ids = append(ids, op.From)
	}
	there, _ := e.Existing(ctx, ids) // when called off, the list ends all the same
	for _, id := range there {
		m.Kept[id] = true
	}
	return m
}

// forgotten reports whether a restore took a snapshot of a state that was recorded
// already, and no undo leads there any more: a bisect leaves one for each of its tests.
func (m moments) forgotten(s *engine.Snapshot) bool {
	c := s.Changed
	return s.OfRestore() && s.Label() == "" && m.marks(s) == "" && c != nil && c.Known && !c.Base.IsZero() && c.Files+c.Dirs == 0 &&
		!slices.ContainsFunc(m.Ops, func(op *engine.Operation) bool { return op.From == s.ID })
}

// describe says what a snapshot is, and whether the files stand at it.
func (m moments) Describe(s *engine.Snapshot) string {
	return strings.TrimSpace(m.what(s) + m.marks(s))
}

// hereMark marks the snapshot at which the files stand.
const hereMark = "<- you are here"

// what says what a snapshot is.
func (m moments) what(s *engine.Snapshot) string {
	if s.OfRestore() && s.Label() == "" {
		if n := slices.IndexFunc(m.Ops, func(op *engine.Operation) bool { return op.From == s.ID }); n >= 0 {
			return fmt.Sprintf("undo:%d, %s", n+1, m.Replaced(n))
		}
	}
	return OneLine(describe(s))
}

// marks says under which names a snapshot is pinned, and whether the files stand at it.
func (m moments) marks(s *engine.Snapshot) (marks string) {
	if names := m.Pins[s.ID]; len(names) > 0 {
		marks = "  [" + visible.Line(strings.Join(names, ", ")) + "]"
	}
	if m.Here != nil && s.ID == m.Here.ID {
		marks += "  " + hereMark
	}
	return marks
}

// byRestore reports whether a restore made a point, not somebody who wanted the
// state recorded.
func byRestore(p engine.Point) bool {
	return (&engine.Snapshot{Points: []engine.Point{p}}).OfRestore()
}

// Replaced says what the n-th operation replaced.
func (m moments) Replaced(n int) string {
	op := m.Ops[n]
	switch {
	case op.Kind != "restore":
		return "what \"rewind " + op.Kind + "\" replaced"
	case len(op.Paths) > 0:
		return fmt.Sprintf("what the restore of a part of %s replaced", op.To.Short())
	}
	return fmt.Sprintf("what the restore of %s replaced", op.To.Short())
}
