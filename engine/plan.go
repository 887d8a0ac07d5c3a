package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/plan"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Plan is the list of changes that a restore will make. It holds no
// resources: it can be shown, counted, or thrown away.
type Plan struct {
	Target  *Snapshot `json:"target"`  // what will be restored
	Changes []Change  `json:"changes"` // in path order
	Kept    []Note    `json:"kept"`    // paths that the target does not have and that stay all the same

	// Conflicts are paths that cannot be restored from what the target has.
	Conflicts []Note `json:"conflicts,omitempty"`

	// Unfinished, if it is not nil, says that the plan begins at what an
	// interrupted operation left, which Restore finishes first.
	Unfinished error `json:"-"`

	steps []apply.Step
	force []string // ignored files that stand where the target has a file
}

// Plan tells what Restore would do now, and changes nothing.
func (e *Engine) Plan(ctx context.Context, id oid.ID, opt *RestoreOptions) (*Plan, error) {
	to, err := e.aimAt(ctx, id, opt)
	if err != nil {
		return nil, err
	}
	to.chosen = true
	p, op, err := e.preview(ctx, to)
	if err != nil {
		return nil, err
	}
	p.Unfinished = between(op)
	return p, nil
}

// An aim is what an operation is to reach.
type aim struct {
	target *Snapshot
	stored bool // the store has the record of the target
	paths  *plan.Selection
	chosen bool      // somebody named the paths now, and is told which of them mean nothing
	made   plan.Made // what the operation that is taken back brought; nil unless one is
}

// aimAt aims at a snapshot, within the paths of the options.
func (e *Engine) aimAt(ctx context.Context, id oid.ID, opt *RestoreOptions) (to aim, err error) {
	if to.target, err = e.Find(ctx, id); err == nil {
		to.stored, err = e.stands(ctx, to.target.ID)
	}
	if err != nil {
		return aim{}, err
	}
	var paths []string
	if opt != nil {
		paths = opt.Paths
	}
	to.paths, err = selection(paths, e.existsIn(ctx, to.target))
	return to, err
}

// takeBack makes an aim one at the state before an operation: what the operation
// made goes, and what stood in the way of its paths is back. Without its journal
// more is kept, and nothing is lost.
func (to *aim) takeBack(ctx context.Context, e *Engine, op *Operation) error {
	steps, err := e.steps(ctx, op)
	if err != nil && !isLost(err) {
		return err
	}
	to.made = plan.MadeBy(steps)
	to.paths = to.paths.And(to.made.Displaced())
	return nil
}

// stands holds that what is aimed at was not dropped, nor purged, since it was
// looked up.
func (to aim) stands(v *records.View) error {
	if !to.stored {
		return nil // git has it
	}
	s, err := v.Find(to.target.ID)
	if err == nil && (s == nil || s.ID != to.target.ID) {
		err = fmt.Errorf("%w: %v: it was dropped meanwhile", ErrNoSnapshot, to.target.ID)
	}
	return err
}

// selection reads the paths that somebody chose; see [RestoreOptions].
func selection(paths []string, exists func(path string) (bool, error)) (*plan.Selection, error) {
	s, err := plan.Select(paths, exists)
	if errors.Is(err, plan.ErrPath) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return s, err
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

// preview plans without recording anything. What an interrupted operation left
// beside the files is no part of the plan: it is cleared away before. The
// operation is returned too, nil if there is none.
func (e *Engine) preview(ctx context.Context, to aim) (*Plan, *Operation, error) {
	op, left, err := e.halfway(ctx)
	if err != nil {
		return nil, nil, err
	}
	var out *Plan
	err = e.lookFor(ctx, func(now *present) ([]string, error) {
		p, err := e.plan(ctx, now, to)
		if err != nil {
			return nil, err
		}
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
func (e *Engine) plan(ctx context.Context, now *present, to aim) (*Plan, error) {
	target, texts := e.target(to.target), map[oid.ID][]byte{}
	if to.target.Source != nil {
		texts = e.assume(to.target, target)
	}
	p, err := plan.New(now.forPlan(), plan.Aim{Target: target, Paths: to.paths, Made: to.made}, plan.Objects{
		Algorithm: e.alg,
		Tree:      e.objects.Trees(ctx, objects.Reading{Staged: now.Memory.Tree, GitFirst: true}),
		Blob: func(id oid.ID) ([]byte, error) {
			if text, ok := texts[id]; ok {
				return text, nil
			}
			return e.objects.Payload(ctx, oid.Blob, id)
		},
	})
	if err != nil {
		return nil, objects.TreeError(err)
	}
	if len(p.Unknown) > 0 && to.chosen {
		return nil, notThere{to.target.ID, p.Unknown, true}
	}
	return &Plan{
		Target: to.target, Changes: changesOf(p.Changes), Kept: planned(p.Kept), Conflicts: planned(p.Conflicts),
		steps: p.Steps, force: p.Force,
	}, nil
}

// target returns what a plan is to know of a snapshot, nil of none.
func (e *Engine) target(s *Snapshot) *plan.Target {
	if s == nil {
		return nil
	}
	t := &plan.Target{
		State: s.State(), Skipped: map[string]bool{}, Nested: map[string]oid.ID{},
		Ignore: s.Rules.Ignore, Exclude: s.Rules.Exclude, Fold: s.Rules.Fold,
	}
	for _, n := range s.Skipped {
		if !n.Overlaid { // else it has all of it: only git's tree has not
			t.Skipped[string(n.Path)] = true
		}
	}
	for _, n := range s.Nested {
		t.Nested[string(n.Path)] = n.Exclude
	}
	if g := s.Gaps; g != nil {
		t.Gaps = &plan.Gaps{GitOnly: g.GitOnly, Incomplete: g.Incomplete, Names: g.Names, Paths: texts(g.Paths)}
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
	if g := s.Gaps; g == nil || !g.FreshIndex || e.repo == nil {
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

// planned takes over what a plan notes.
func planned(from []plan.Note) (to []Note) {
	for _, n := range from {
		to = append(to, Note{Path: Path(n.Path), Reason: n.Reason})
	}
	return to
}
