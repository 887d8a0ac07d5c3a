package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/merge"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/textmerge"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A merging is what is merged into the present.
type merging struct {
	ends    []*Snapshot // of each range: what it begins with, and what it ends with
	stored  []oid.ID    // those of which the store has the record
	markers bool
	label   string
}

// all returns the snapshots that a merge needs, which may be none.
func (m *merging) all() []*Snapshot {
	if m == nil {
		return nil
	}
	return m.ends
}

// goalMerge makes a goal of the present, with some ranges merged into it.
func (e *Engine) goalMerge(ctx context.Context, op *Op) (to goal, err error) {
	if to.merge, err = e.merging(ctx, op, op.Ranges); err != nil {
		return to, err
	}
	to.target, to.ignored, to.chosen = to.merge.ends[len(to.merge.ends)-1], op.Ignored, true
	to.paths, err = plan.Select(op.Paths, e.existsIn(ctx, to.merge.ends...))
	return to, err
}

// merging looks up the ends of the ranges.
func (e *Engine) merging(ctx context.Context, op *Op, ranges []Range) (*merging, error) {
	m := &merging{markers: op.Markers, label: op.Label}
	for _, s := range ranges {
		for _, id := range []oid.ID{s.From, s.To} {
			end, err := e.lookup.Find(ctx, id)
			if err != nil {
				return nil, err
			}
			stored, err := e.isRecorded(ctx, end.ID)
			if err != nil {
				return nil, err
			}
			if m.ends = append(m.ends, end); stored {
				m.stored = append(m.stored, end.ID)
			}
		}
	}
	return m, nil
}

// keepMine turns the goal at a snapshot to what an agent's turns have changed since:
// that goes back, and what changed since the last of these turns stays.
func (to *goal) keepMine(ctx context.Context, e *Engine, op *Op) error {
	last, err := e.lookup.LastOfTurn(ctx)
	if err != nil {
		return err
	}
	to.merge, err = e.merging(ctx, op, []Range{{From: last.ID, To: to.target.ID}})
	return err
}

// order says what is merged into the present, and how.
func (e *Engine) order(ctx context.Context, now *present, to goal, targets []*plan.Target) merge.Order {
	disk := now.forPlan()
	return merge.Order{
		Present: disk, Ends: targets[:len(to.merge.ends)], Paths: to.paths,
		Guard:   plan.Guard{Present: disk, Ignored: to.ignored, Named: e.conf.Names},
		Markers: to.merge.markers, Labels: textmerge.Labels{Ours: "now", Theirs: to.merge.label},
		Recorded: func(id oid.ID) ([]byte, bool, error) { return e.objects.Beginning(ctx, id, mergeBytesMax) },
		Disk:     func(path string) ([]byte, bool, error) { return dirfd.ReadBelow(e.root, path, false, mergeBytesMax) },
	}
}

// mergeBytesMax is how large a file may be that is merged line by line: some eight of
// its size are in memory then.
const mergeBytesMax = 32 << 20
