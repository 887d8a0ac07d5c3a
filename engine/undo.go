package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Undo takes back the newest restore (or redo) that was not yet taken back: it
// restores the snapshot that was made just before it, within the same paths.
// Undo is an operation of its own: Redo takes it back, and what was there in
// between is recorded. [ErrNothing] if there is nothing to take back.
//
// An unfinished restore or redo is rolled back by Undo, not finished first. An
// unfinished undo is finished, and that is all: whoever says undo again after
// an interruption does not mean one more.
func (e *Engine) Undo(ctx context.Context) (*Restored, error) {
	return e.revert(ctx, "undo")
}

// Redo takes back the newest undo, if nothing was restored since. Otherwise
// it is [ErrNothing]. An unfinished redo is finished, and that is all; an
// unfinished undo is finished first and then taken back.
func (e *Engine) Redo(ctx context.Context) (*Restored, error) {
	return e.revert(ctx, "redo")
}

// PlanUndo tells what Undo would do now, and changes nothing; redo says that
// Redo is meant.
func (e *Engine) PlanUndo(ctx context.Context, redo bool) (*Plan, error) {
	kind := "undo"
	if redo {
		kind = "redo"
	}
	h, err := e.history(ctx)
	if err != nil {
		return nil, err
	}
	var to aim
	if h.open != nil && h.open.Kind == kind {
		to, err = e.begun(ctx, h.open)
	} else {
		_, to, err = e.reverted(ctx, kind)
	}
	if err != nil {
		return nil, err
	}
	return e.preview(ctx, to)
}

// begun returns where an unfinished undo or redo leads.
func (e *Engine) begun(ctx context.Context, open *Operation) (to aim, err error) {
	var ops []*Operation
	err = e.view(ctx, func(v *cas.View) (err error) {
		ops, err = operations(v, e.key)
		return err
	})
	if err != nil {
		return to, err
	}
	if to, err = e.aimAt(ctx, open.To, &RestoreOptions{Paths: texts(open.Paths)}); err != nil {
		return to, err
	}
	for _, op := range ops {
		if op.Seq == open.Reverts {
			err = to.takeBack(ctx, e, op)
		}
	}
	return to, err
}

func (e *Engine) revert(ctx context.Context, kind string) (*Restored, error) {
	if e.opened() == nil {
		return nil, nothingTo(kind)
	}
	unlock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock.Unlock()
	h, err := e.history(ctx)
	if err != nil {
		return nil, err
	}
	if h.open != nil && (h.open.Kind == kind || h.open.Kind == "undo") {
		done, err := e.recoverLocked(ctx)
		if err != nil || h.open.Kind == kind {
			return done, err
		}
		h.open = nil
	}
	op, to, err := e.reverted(ctx, kind)
	if err != nil {
		return nil, err
	}
	left, err := e.clear(ctx, h.open)
	if err != nil {
		return nil, err
	}
	r, err := e.operate(ctx, &Operation{Kind: kind, Reverts: op.Seq}, to)
	if err == nil {
		r.Conflicts = append(r.Conflicts, left...)
	}
	return r, err
}

// reverted returns the operation that an undo or redo takes back, and where
// that leads.
func (e *Engine) reverted(ctx context.Context, kind string) (op *Operation, to aim, err error) {
	h, err := e.history(ctx)
	if err != nil {
		return nil, to, err
	}
	list := h.undo
	if kind == "redo" {
		list = h.redo
	}
	if len(list) == 0 {
		return nil, to, nothingTo(kind)
	}
	op = list[len(list)-1]
	if to, err = e.aimAt(ctx, op.From, &RestoreOptions{Paths: texts(op.Paths)}); err != nil {
		return nil, to, err
	}
	return op, to, to.takeBack(ctx, e, op)
}

func nothingTo(kind string) error {
	return fmt.Errorf("%w: there is no restore to %s", ErrNothing, kind)
}

// clear removes what an unfinished operation that is taken back has left
// beside the files it was about to change. The notes name what could not go.
func (e *Engine) clear(ctx context.Context, open *Operation) ([]Note, error) {
	if open == nil {
		return nil, nil
	}
	steps, err := e.steps(ctx, open)
	if err != nil {
		return nil, err
	}
	left, err := apply.Clear(ctx, e.root, steps, &apply.Options{Alg: e.alg, Key: open.Key, Protected: e.protected()})
	return notes(left), err
}

// steps returns the plan of an operation.
func (e *Engine) steps(ctx context.Context, op *Operation) ([]apply.Step, error) {
	_, journal, err := e.object(ctx, op.Plan)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	steps, err := decodeSteps(journal)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	return steps, nil
}

// Recover finishes an operation that a crash left unfinished. Every method
// that changes the worktree or records it does so first; nil if there was
// none. The snapshot ids of what was finished are returned.
func (e *Engine) Recover(ctx context.Context) (finished []oid.ID, err error) {
	h, err := e.history(ctx)
	if err != nil || h.open == nil {
		return nil, err
	}
	unlock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock.Unlock()) }()
	done, err := e.recoverLocked(ctx)
	if done != nil {
		finished = []oid.ID{done.ID}
	}
	return finished, err
}

// recoverLocked finishes what is unfinished and says what came of it; nil if
// there is nothing. The operation lock is held, so whoever began it is dead.
func (e *Engine) recoverLocked(ctx context.Context) (*Restored, error) {
	h, err := e.history(ctx)
	if err != nil || h.open == nil {
		return nil, err
	}
	steps, err := e.steps(ctx, h.open)
	if err != nil {
		return nil, err
	}
	out, err := e.apply(ctx, h.open, steps, true)
	if err == nil {
		err = e.end(ctx, h.open, out)
	}
	if err != nil {
		return nil, unfinished("the "+h.open.Kind+" that was interrupted", h.open, err)
	}
	return restored(h.open, out), nil
}

func texts(paths []Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, string(p))
	}
	return out
}
