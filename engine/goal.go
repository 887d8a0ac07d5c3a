package engine

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A goal is what an operation is to reach.
type goal struct {
	target  *Snapshot
	stored  bool // the store has the record of the target
	paths   *plan.Selection
	ignored bool              // ignored files that are there, and differ, too
	chosen  bool              // the paths come from the caller: one that means nothing is an error
	made    plan.Made         // what an operation that is to be taken back has made; nil without one
	edits   map[Change][]byte // what files get in place of what the target has
	merge   *merging          // what is merged into the present; nil: the present becomes the target
	agreed  func(*Diff) error // whether the plan is the one that was agreed to; nil: any is
}

// goal finds what an operation is to reach.
func (e *Engine) goal(ctx context.Context, op *Op) (to goal, err error) {
	if err := op.check(); err != nil {
		return to, err
	}
	switch {
	case op.takesBack():
		return e.goalBack(ctx, op)
	case op.merges():
		return e.goalMerge(ctx, op)
	}
	to, err = e.goalAt(ctx, op)
	to.chosen = true
	return to, err
}

// goalAt makes a goal of a snapshot, within the paths of an operation.
func (e *Engine) goalAt(ctx context.Context, op *Op) (to goal, err error) {
	if to.target, err = e.lookup.Find(ctx, op.To); err == nil {
		to.stored, err = e.isRecorded(ctx, to.target.ID)
	}
	if err != nil {
		return goal{}, err
	}
	to.ignored, to.edits = op.Ignored, op.Edits
	if to.paths, err = plan.Select(op.Paths, e.existsIn(ctx, to.target)); err == nil && op.KeepMine {
		err = to.keepMine(ctx, e, op)
	}
	return to, err
}

// takeBack turns the goal to the state before an operation: what the operation made
// goes, and what was in the way of its paths comes back. If its journal is lost,
// nobody knows what it made, and all of that stays.
func (to *goal) takeBack(ctx context.Context, e *Engine, op *Operation) error {
	steps, err := e.steps(ctx, op)
	if err != nil && !isLost(err) {
		return err
	}
	to.made = plan.MadeBy(steps, converted[string](op.There))
	to.paths = to.paths.And(to.made.Displaced())
	return nil
}

// checkTarget is an error if the target was dropped or purged since it was looked
// up, or anything that is merged.
func (to goal) checkTarget(v *records.View) error {
	var needed []oid.ID // but for what git has
	if to.stored {
		needed = append(needed, to.target.ID)
	}
	if to.merge != nil {
		needed = append(needed, to.merge.stored...)
	}
	for _, id := range needed {
		s, err := v.Find(id)
		if err == nil && (s == nil || s.ID != id) {
			err = fmt.Errorf("%w: %s: it was dropped meanwhile", ErrNoSnapshot, id.Short())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// existsIn returns the function that tells whether one of the snapshots has a
// path, or the disk; a snapshot may be nil.
func (e *Engine) existsIn(ctx context.Context, snapshots ...*Snapshot) func(string) (bool, error) {
	return func(p string) (bool, error) {
		if _, ok := dirfd.Lstat(e.root, p); ok {
			return true, nil
		}
		for _, s := range snapshots {
			if s == nil {
				continue
			}
			n, ok, err := tree.Lookup(s.State(), p, e.alg, e.objects.Trees(ctx, objects.Reading{}))
			if ok || n.Git.Name != "" || err != nil {
				return ok || n.Git.Name != "", objects.TreeError(err)
			}
		}
		return false, nil
	}
}

// whatIsNow names the present in an error.
const whatIsNow = "what would be recorded now"
