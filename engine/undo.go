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

// takeBack carries out an undo or a redo.
func (e *Engine) takeBack(ctx context.Context, op *Op) (*Restored, error) {
	if err := op.check(); err != nil {
		return nil, err
	}
	if s, err := e.opened(ctx); err != nil || s == nil {
		return nil, cmp.Or(err, op.nothing())
	}
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if !op.To.IsZero() {
		if err := e.leadsTo(ctx, op); err != nil {
			return nil, err
		}
	}
	h, err := e.history(ctx)
	if err != nil {
		return nil, err
	}
	var finished *Restored
	switch {
	case h.Open == nil:
	case h.Open.Kind == op.kind():
		return e.recoverLocked(ctx, lock)
	case h.Open.Kind == records.KindUndo:
		if finished, err = e.recoverFirst(ctx, lock); err != nil {
			return nil, err
		}
		h.Open = nil
	}
	taken, to, err := e.taken(ctx, op)
	if err != nil {
		return nil, err
	}
	left, err := e.clear(ctx, h.Open)
	if err != nil {
		return nil, err
	}
	to.agreed = op.Agreed
	r, err := e.operate(ctx, running{&Operation{Kind: op.kind(), Reverts: taken.Seq}, lock}, to)
	if err == nil {
		r.Conflicts = append(r.Conflicts, left...)
		r.Recovered = finished
	}
	return r, err
}

// leadsTo is an error if an undo or redo would not restore the snapshot that it names.
func (e *Engine) leadsTo(ctx context.Context, op *Op) error {
	to, err := e.goalBack(ctx, op)
	if err == nil && to.target.ID != op.To {
		err = fmt.Errorf("%w: another process has restored files since: %s would lead to %s, not to %v; nothing was changed", ErrRefused, op.Verb, to.target.ID.Short(), op.To)
	}
	return err
}

// goalBack makes a goal of what an undo or redo restores: the state before what it takes back.
// If it was interrupted, that is known.
func (e *Engine) goalBack(ctx context.Context, op *Op) (to goal, err error) {
	h, err := e.history(ctx)
	if err != nil {
		return to, err
	}
	if h.Open == nil || h.Open.Kind != op.kind() {
		_, to, err = e.taken(ctx, op)
		return to, err
	}
	taken, err := records.Read(ctx, e.view, func(v *records.View) (*Operation, error) { return v.Operation(h.Open.Reverts) })
	if err != nil {
		return to, err
	}
	if to, err = e.goalAt(ctx, &Op{To: h.Open.To, Paths: converted[string](h.Open.Paths)}); err == nil && taken != nil {
		err = to.takeBack(ctx, e, taken)
	}
	return to, err
}

// taken returns the operation that an undo or redo takes back, and the goal: the
// state before that operation.
func (e *Engine) taken(ctx context.Context, op *Op) (taken *Operation, to goal, err error) {
	h, err := e.history(ctx)
	if err != nil {
		return nil, to, err
	}
	if taken = h.Undo; op.Verb == Redo {
		taken = h.Redo
	}
	if taken == nil {
		return nil, to, op.nothing()
	}
	if to, err = e.goalAt(ctx, &Op{To: taken.From, Paths: converted[string](taken.Paths)}); err != nil {
		return nil, to, err
	}
	return taken, to, to.takeBack(ctx, e, taken)
}

// nothing is the error of an undo or redo that has nothing to take back.
func (op *Op) nothing() error {
	return fmt.Errorf("%w: there is no restore to %s", ErrNothing, op.Verb)
}

// A Bisecting says that a bisect stands open ([Engine.StartBisect]).
type Bisecting struct {
	Home  ID        // the snapshot of the present as it was
	Since time.Time // when that was
	State []byte    // the caller's
	Moved bool      // something was restored since, and no undo has taken it back

	Unfinished bool // an operation was interrupted, which an undo takes back or finishes
}

// StartBisect records the present before somebody restores one snapshot after the other
// to look at them. Whatever is restored until [Engine.SetBisect] ends it is not to be seen in
// the history afterwards, and no prune drops what the way back needs. The state is
// the caller's. If a bisect stands open already, it is [ErrRefused].
func (e *Engine) StartBisect(ctx context.Context, state []byte) (home *Snapshot, err error) {
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if _, err := e.recoverFirst(ctx, lock); err != nil {
		return nil, err
	}
	if open, err := e.Bisecting(ctx); err != nil || open != nil {
		return nil, errors.Join(err, fmt.Errorf("%w: a bisect stands open already", ErrRefused))
	}
	turn := e.beginTurn(ctx)
	defer turn.Close()
	c, err := e.stage(ctx, turn)
	if err != nil {
		return nil, err
	}
	defer c.Discard()
	done, err := e.commit(ctx, c, Point{Trigger: records.TriggerUndo}, func(u *records.Update, home *Snapshot) error {
		return u.SetBisect(home.ID, c.at, state)
	})
	if err != nil {
		return nil, err
	}
	_ = e.saveStatTable(done.snapshot.ID, c.Seen, turn)
	_ = done.way.Finish(ctx) // the next command tries again
	return done.snapshot, nil
}

// Bisecting returns what [Engine.StartBisect] wrote down, nil if no bisect stands open.
func (e *Engine) Bisecting(ctx context.Context) (*Bisecting, error) {
	h, err := e.history(ctx)
	if err != nil || h.Bisect == nil {
		return nil, err
	}
	return &Bisecting{h.Bisect.Home, h.Bisect.Since, h.Bisect.State, h.Bisect.After(h.Undo), h.Open != nil}, nil
}

// SetBisect keeps another state of the bisect. With a zero home it is over, and the files
// are back: undo and redo take back what they took back when [Engine.StartBisect] was
// called, and the files stand where they stood.
func (e *Engine) SetBisect(ctx context.Context, home ID, state []byte) error {
	return e.update(ctx, func(u *records.Update) error { return u.SetBisect(home, oid.ID{}, state) })
}
