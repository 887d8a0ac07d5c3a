package engine

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/merge"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/textmerge"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Span is what changed from one snapshot to another. With its ends exchanged it is what
// takes that back.
type Span struct{ From, To oid.ID }

// Merge brings to the present what changed in some spans of history, one after the
// other: a three-way merge of each path, of which the base is what the beginning of
// the span has, theirs what its end has, and ours the present. What the present has
// already is no conflict. A path that cannot be merged stays as it is, and is a
// conflict with its reason; decision 0024 has the rules.
//
// It is an operation like [Engine.Restore], with the same guarantee, and with an undo
// that is as exact. But the files stand where they stood before.
//
// Verb is the word by which it is asked for, and what the operation is called.
func (e *Engine) Merge(ctx context.Context, verb string, spans []Span, opt *RestoreOptions) (*Restored, error) {
	kind := records.OperationKind(verb)
	if kind == "" || kind == records.KindRestore || kind == records.KindUndo || kind == records.KindRedo {
		return nil, fmt.Errorf("%w: a merge cannot be called %q", ErrRefused, verb)
	}
	to, err := e.aimMerge(ctx, spans, opt)
	if err != nil {
		return nil, err
	}
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	finished, err := e.recoverFirst(ctx, lock)
	if err != nil {
		return nil, err
	}
	r, err := e.operate(ctx, running{&Operation{Kind: kind}, lock}, to)
	if err == nil {
		r.Recovered = finished
	}
	return r, err
}

// PlanMerge tells what Merge would do now, and changes nothing.
func (e *Engine) PlanMerge(ctx context.Context, spans []Span, opt *RestoreOptions) (*Plan, error) {
	to, err := e.aimMerge(ctx, spans, opt)
	if err != nil {
		return nil, err
	}
	p, op, err := e.planNow(ctx, to)
	if err != nil {
		return nil, err
	}
	p.Unfinished = shownUnfinished(op)
	return p, nil
}

// A merging is what is merged into the present.
type merging struct {
	ends    []*Snapshot // of each span: what it begins with, and what it ends with
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

// aimMerge aims at the present, with some spans merged into it.
func (e *Engine) aimMerge(ctx context.Context, spans []Span, opt *RestoreOptions) (to aim, err error) {
	if len(spans) == 0 {
		return to, fmt.Errorf("%w: nothing is to be merged", ErrRefused)
	}
	if opt == nil {
		opt = &RestoreOptions{}
	}
	if len(opt.Edits) > 0 || opt.KeepMine {
		return to, fmt.Errorf("%w: a merge takes no edits, and keeps everybody's changes", ErrRefused)
	}
	if to.merge, err = e.merging(ctx, spans, opt); err != nil {
		return to, err
	}
	to.target, to.ignored, to.chosen = to.merge.ends[len(to.merge.ends)-1], opt.Ignored, true
	to.paths, err = selection(opt.Paths, e.existsIn(ctx, to.merge.ends...))
	return to, err
}

// merging looks up the ends of the spans.
func (e *Engine) merging(ctx context.Context, spans []Span, opt *RestoreOptions) (*merging, error) {
	m := &merging{markers: opt.Markers, label: opt.Label}
	for _, s := range spans {
		for _, id := range []oid.ID{s.From, s.To} {
			end, err := e.Find(ctx, id)
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

// keepMine turns the aim at a snapshot to what an agent's turns have changed since:
// that goes back, and what changed since the last of these turns stays.
func (to *aim) keepMine(ctx context.Context, e *Engine, opt *RestoreOptions) error {
	last, err := e.lookup.LastOfTurn(ctx)
	if err != nil {
		return err
	}
	to.merge, err = e.merging(ctx, []Span{{From: last.ID, To: to.target.ID}}, opt)
	return err
}

// order says what is merged into the present, and how.
func (e *Engine) order(ctx context.Context, now *present, to aim, targets []*plan.Target) merge.Order {
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
