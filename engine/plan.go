package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/merge"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Plan tells what an operation would do now, and changes nothing.
func (e *Engine) Plan(ctx context.Context, op Op) (*Diff, error) {
	to, err := e.goal(ctx, &op)
	if err != nil {
		return nil, err
	}
	p, open, err := e.planNow(ctx, to)
	if err == nil && !op.takesBack() { // an undo or redo takes it back, or is what finishes it
		p.Unfinished = shownUnfinished(open)
	}
	return p, err
}

// planNow plans without recording anything. What an interrupted operation left
// beside the files is no part of the plan: it is cleared away before. The
// operation is returned too, nil if there is none.
func (e *Engine) planNow(ctx context.Context, to goal) (*Diff, *Operation, error) {
	op, left, err := e.openOperation(ctx)
	if err != nil {
		return nil, nil, err
	}
	var out *Diff
	err = e.lookFor(ctx, func(now *present) ([]string, error) {
		p, err := e.plan(ctx, now, to)
		if err != nil {
			return nil, err
		}
		p.tell()
		p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool { return left[string(c.Path)] })
		out = p
		return p.force, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return out, op, nil
}

// plan finds what must change so that the present becomes the target, within
// the selected paths.
func (e *Engine) plan(ctx context.Context, now *present, to goal) (*Diff, error) {
	targets, o := e.targets(ctx, now, append(to.merge.all(), to.target)...)
	var p *plan.Plan
	var err error
	if to.merge != nil {
		p, err = merge.New(ctx, e.order(ctx, now, to, targets), o)
	} else {
		p, err = plan.New(now.forPlan(), plan.Goal{Target: targets[0], Paths: to.paths, Made: to.made, Ignored: to.ignored, Named: e.conf.Names}, o)
	}
	if err != nil {
		return nil, objects.TreeError(err)
	}
	if len(p.Unknown) > 0 && to.chosen {
		return nil, fmt.Errorf("%w; nothing was changed", lookup.NotThere{Snapshot: to.target.ID, Paths: notes(p.Unknown), Other: whatIsNow})
	}
	texts := p.Texts
	if to.merge == nil {
		var wanted map[string]plan.Edit
		wanted, texts = editsOf(to.edits, e.alg)
		p.Edit(wanted)
	}
	return &Diff{
		e: e, live: liveFrom, Target: to.target, Kept: notes(p.Kept), Conflicts: notes(p.Conflicts), Marked: notes(p.Marked),
		steps: p.Steps, told: p.Told, force: p.Force, texts: texts,
	}, nil
}

// targets returns what a plan is to know of some snapshots, and where it reads what
// they and the present are made of.
func (e *Engine) targets(ctx context.Context, now *present, snapshots ...*Snapshot) (list []*plan.Target, o plan.Objects) {
	texts := map[oid.ID][]byte{}
	for _, s := range snapshots {
		t := e.target(s)
		if s.Source != nil {
			maps.Copy(texts, e.assume(s, t))
		}
		list = append(list, t)
	}
	return list, plan.Objects{
		Algorithm: e.alg,
		Tree:      now.Trees,
		Blob: func(id oid.ID) ([]byte, error) {
			if text, ok := texts[id]; ok {
				return text, nil
			}
			return e.objects.Payload(ctx, oid.Blob, id)
		},
	}
}

// target returns what a plan is to know of a snapshot, nil of none.
func (e *Engine) target(s *Snapshot) *plan.Target {
	if s == nil {
		return nil
	}
	t := &plan.Target{
		State: s.State(), Skipped: map[string]string{}, Above: map[string]string{}, Aside: map[string]bool{}, Nested: map[string]oid.ID{},
		Limits: s.Limits, Ignore: s.Rules.Ignore, Exclude: s.Rules.Exclude, Fold: s.Rules.Fold,
	}
	for _, n := range s.Skipped {
		if p := string(n.Path); n.Kept { // it has all of it: only git's tree has not
			t.Aside[p] = true
		} else if t.Skipped[p] = ""; n.Reason == retention.Purged || n.Reason == retention.AtHome {
			t.Skipped[p] = n.Reason
			for dir := tree.Parent(p); dir != "" && t.Above[dir] == ""; dir = tree.Parent(dir) {
				t.Above[dir] = n.Reason
			}
		}
	}
	for _, n := range s.Nested {
		t.Nested[string(n.Path)] = n.Exclude
	}
	return t
}

// assume takes today's rules and settings for those that were in force when a
// snapshot was made of which nobody recorded them, and returns the rules' texts.
func (e *Engine) assume(s *Snapshot, t *plan.Target) map[oid.ID][]byte {
	texts := map[oid.ID][]byte{}
	for _, text := range e.rules().Read().All() {
		texts[e.alg.Sum(oid.Blob, text)] = text
	}
	if g := s.Limits; g == nil || !g.FreshIndex || e.repo == nil {
		return texts
	}
	// The file stays when a sparse checkout is turned off.
	if _, err := os.Stat(filepath.Join(e.repo.Layout().GitDir, "info", "sparse-checkout")); err == nil {
		if head, err := e.repo.Head(); err == nil {
			t.Sparse = tree.State{Tree: head.Tree}
		}
	}
	return texts
}

// converted returns texts as paths, or paths as texts.
func converted[To, From ~string](from []From) (to []To) {
	for _, one := range from {
		to = append(to, To(one))
	}
	return to
}
