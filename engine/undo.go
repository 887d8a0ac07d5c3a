package engine

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/records"
)

// Undo takes back the newest restore (or redo) that was not yet taken back: it
// restores the snapshot that was made just before it, within the same paths.
// Undo is an operation of its own: Redo takes it back, and what was there in
// between is recorded. [ErrNothing] if there is nothing to take back.
//
// Undo does not finish a restore or redo that was interrupted: it takes it back.
// If an undo was interrupted, Undo finishes it and does no more: whoever says undo
// again after an interruption means the same undo.
func (e *Engine) Undo(ctx context.Context) (*Restored, error) {
	return e.revert(ctx, records.KindUndo)
}

// Redo takes back the newest undo, if nothing was restored since. Otherwise it is
// [ErrNothing]. If a redo was interrupted, Redo finishes it and does no more. If an
// undo was interrupted, Redo finishes it and then takes it back.
func (e *Engine) Redo(ctx context.Context) (*Restored, error) {
	return e.revert(ctx, records.KindRedo)
}

// PlanUndo tells what Undo would do now, and changes nothing; redo says that
// Redo is meant.
func (e *Engine) PlanUndo(ctx context.Context, redo bool) (*Plan, error) {
	kind := records.KindUndo
	if redo {
		kind = records.KindRedo
	}
	h, err := e.history(ctx)
	if err != nil {
		return nil, err
	}
	var to aim
	if h.Open != nil && h.Open.Kind == kind {
		to, err = e.aimOf(ctx, h.Open)
	} else {
		_, to, err = e.reverted(ctx, kind)
	}
	if err != nil {
		return nil, err
	}
	p, _, err := e.planNow(ctx, to)
	return p, err
}

// aimOf returns the aim of an undo or redo that was interrupted.
func (e *Engine) aimOf(ctx context.Context, open *Operation) (to aim, err error) {
	var taken *Operation
	err = e.view(ctx, func(v *records.View) (err error) {
		taken, err = v.Operation(open.Reverts)
		return err
	})
	if err != nil {
		return to, err
	}
	if to, err = e.aimAt(ctx, open.To, &RestoreOptions{Paths: converted[string](open.Paths)}); err == nil && taken != nil {
		err = to.takeBack(ctx, e, taken)
	}
	return to, err
}

// revert is Undo or Redo.
func (e *Engine) revert(ctx context.Context, kind records.OperationKind) (*Restored, error) {
	if e.opened() == nil {
		return nil, nothingTo(kind)
	}
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	h, err := e.history(ctx)
	if err != nil {
		return nil, err
	}
	var finished *Restored
	switch {
	case h.Open == nil:
	case h.Open.Kind == kind:
		return e.recoverLocked(ctx, lock)
	case h.Open.Kind == records.KindUndo:
		if finished, err = e.recoverFirst(ctx, lock); err != nil {
			return nil, err
		}
		h.Open = nil
	}
	op, to, err := e.reverted(ctx, kind)
	if err != nil {
		return nil, err
	}
	left, err := e.clear(ctx, h.Open)
	if err != nil {
		return nil, err
	}
	r, err := e.operate(ctx, running{&Operation{Kind: kind, Reverts: op.Seq}, lock}, to)
	if err == nil {
		r.Conflicts = append(r.Conflicts, left...)
		r.Recovered = finished
	}
	return r, err
}

// reverted returns the operation that an undo or redo takes back, and the aim: the
// state before that operation.
func (e *Engine) reverted(ctx context.Context, kind records.OperationKind) (op *Operation, to aim, err error) {
	h, err := e.history(ctx)
	if err != nil {
		return nil, to, err
	}
	if op = h.Undo; kind == records.KindRedo {
		op = h.Redo
	}
	if op == nil {
		return nil, to, nothingTo(kind)
	}
	if to, err = e.aimAt(ctx, op.From, &RestoreOptions{Paths: converted[string](op.Paths)}); err != nil {
		return nil, to, err
	}
	return op, to, to.takeBack(ctx, e, op)
}

func nothingTo(kind records.OperationKind) error {
	return fmt.Errorf("%w: there is no restore to %s", ErrNothing, kind)
}
