package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
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
	if s, err := e.opened(ctx); err != nil || s == nil {
		return nil, cmp.Or(err, nothingTo(kind))
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

// An Away says that the files stand elsewhere for a while ([Engine.Leave]).
type Away struct {
	Home  oid.ID    // the snapshot of the present as it was
	Since time.Time // when that was
	State []byte    // the caller's
	Moved bool      // something was restored since, and [Engine.Undo] has not taken it back

	Unfinished bool // an operation was interrupted, which Undo takes back or finishes
}

// Leave records the present before somebody restores one snapshot after the other
// to look at them. Whatever is restored until [Engine.SetAway] ends it is not to be seen in
// the history afterwards, and no prune drops what the way back needs. The state is
// the caller's. If the files are away already, it is [ErrRefused].
func (e *Engine) Leave(ctx context.Context, state []byte) (home *Snapshot, err error) {
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if _, err := e.recoverFirst(ctx, lock); err != nil {
		return nil, err
	}
	if away, err := e.Away(ctx); err != nil || away != nil {
		return nil, errors.Join(err, fmt.Errorf("%w: the files are away already", ErrRefused))
	}
	c, err := e.stage(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer c.Discard()
	done, err := e.commit(ctx, c, Point{Trigger: records.TriggerUndo}, func(u *records.Update, home *Snapshot) error {
		return u.SetAway(home.ID, c.at, state)
	})
	if err != nil {
		return nil, err
	}
	_ = done.way.Finish(ctx) // the next command tries again
	return done.snapshot, nil
}

// Away returns what [Engine.Leave] wrote down, nil if the files are not away.
func (e *Engine) Away(ctx context.Context) (*Away, error) {
	h, err := e.history(ctx)
	if err != nil || h.Away == nil {
		return nil, err
	}
	return &Away{h.Away.Home, h.Away.Since, h.Away.State, h.Away.After(h.Undo), h.Open != nil}, nil
}

// SetAway keeps another state of who took the files away from home. With a zero home
// they are back: undo and redo take back what they took back when [Engine.Leave] was
// called, and the files stand where they stood.
func (e *Engine) SetAway(ctx context.Context, home oid.ID, state []byte) error {
	return e.update(ctx, func(u *records.Update) error { return u.SetAway(home, oid.ID{}, state) })
}
