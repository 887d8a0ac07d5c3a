package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// moments are what a list tells beside its snapshots: what was restored, and
// where the files stand.
type moments struct {
	here *engine.Snapshot
	ops  []*engine.Operation // newest first
	kept map[oid.ID]bool     // of what they replaced, the snapshots that are there
	cut  bool                // older ones are not asked for
}

func momentsOf(ctx context.Context, e *engine.Engine) (m moments, err error) {
	if m.here, err = e.Here(ctx); err != nil {
		return m, err
	}
	m.ops, err = e.Operations(ctx)
	return m, err
}

// chosen leaves to a list only what belongs into it: restores are of no session,
// and one whose undo snapshot was pruned has no name any more.
func (m moments) chosen(ctx context.Context, e *engine.Engine, opt *engine.ListOptions) moments {
	m.kept, m.cut = map[oid.ID]bool{}, opt.Limit > 0
	if opt.Session != "" {
		m.ops = nil
	}
	var ids []oid.ID
	for _, op := range m.ops {
		ids = append(ids, op.From)
	}
	there, _ := e.Existing(ctx, ids) // when called off, the list ends all the same
	for _, id := range there {
		m.kept[id] = true
	}
	return m
}

// describe says what a snapshot is, and whether the files stand at it.
func (m moments) describe(s *engine.Snapshot) string {
	what := oneLine(describe(s))
	if s.OfRestore() {
		if n := slices.IndexFunc(m.ops, func(op *engine.Operation) bool { return op.From == s.ID }); n >= 0 {
			what = fmt.Sprintf("undo:%d, %s", n+1, m.replaced(n))
		}
	}
	if m.here != nil && s.ID == m.here.ID {
		what = strings.TrimSpace(what + "  <- you are here")
	}
	return what
}

// byRestore reports whether a restore made a point, not somebody who wanted the
// state recorded.
func byRestore(p engine.Point) bool {
	return (&engine.Snapshot{Points: []engine.Point{p}}).OfRestore()
}

// replaced says what the n-th operation replaced.
func (m moments) replaced(n int) string {
	op := m.ops[n]
	switch {
	case op.Kind != "restore":
		return "what \"rewind " + string(op.Kind) + "\" replaced"
	case len(op.Paths) > 0:
		return fmt.Sprintf("what the restore of a part of %s replaced", short(op.To))
	}
	return fmt.Sprintf("what the restore of %s replaced", short(op.To))
}
