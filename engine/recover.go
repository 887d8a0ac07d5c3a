package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/durable"
)

// recoverNow finishes an operation that a crash left unfinished, and says what it
// did; nil if there was none. Every method that changes the worktree or records
// it does so first. One that cannot be finished now is [ErrUnfinished].
func (e *Engine) recoverNow(ctx context.Context) (done *Restored, err error) {
	h, err := e.history(ctx)
	if err != nil || h.Open == nil {
		return nil, err
	}
	return e.recoverAlone(ctx)
}

// recoverAlone takes the lock of operations, and finishes what is unfinished.
func (e *Engine) recoverAlone(ctx context.Context) (done *Restored, err error) {
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return e.recoverFirst(ctx, lock)
}

// recoverIfPossible is recoverNow for verbs that go on if an operation cannot be
// finished. Left is the error that says which operation that is, and why.
func (e *Engine) recoverIfPossible(ctx context.Context, recover func(context.Context) (*Restored, error)) (done *Restored, left, err error) {
	h, err := e.history(ctx)
	if err == nil && h.Open != nil {
		if done, err = recover(ctx); err == nil {
			h, err = e.history(ctx)
		}
	}
	if errors.Is(err, ErrUnfinished) && ctx.Err() == nil {
		return nil, err, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return done, strangeError(h), nil
}

// recoverFirst is recoverLocked at the beginning of another verb. It calls
// Options.Recovered at once, for the verb itself may fail.
func (e *Engine) recoverFirst(ctx context.Context, lock *durable.Held) (*Restored, error) {
	done, err := e.recoverLocked(ctx, lock)
	if done != nil && e.opt.Recovered != nil {
		e.opt.Recovered(done)
	}
	return done, err
}

// recoverLocked finishes the operation that has not ended and says what it did;
// nil if there is none. The caller has the lock of operations. So the process that
// began the operation does not run any more.
func (e *Engine) recoverLocked(ctx context.Context, lock *durable.Held) (*Restored, error) {
	h, err := e.history(ctx)
	if err != nil || h.Open == nil {
		return nil, err
	}
	op := running{h.Open, lock}
	what := "the " + op.Kind + " that was interrupted"
	if hasEnded(op.lock, op.Key) {
		if err := e.end(ctx, op, outcome{}); err != nil {
			return nil, unfinished(what, op.Operation, err)
		}
		r := restored(op.Operation, outcome{})
		r.Kept = []Note{{Path: ".", Reason: forgotten}}
		return r, nil
	}
	var out outcome
	steps, err := e.steps(ctx, op.Operation)
	switch {
	case errors.Is(err, ErrDamaged): // nobody will ever finish it
		out.Conflicts = []apply.Note{{Path: ".", Reason: fmt.Sprintf("%s: %v", lostJournal, err)}}
		err = nil
	case err == nil:
		source := e.objects.PrefetchSteps(ctx, steps)() // first, for it moves the steps
		out, err = e.apply(ctx, op, ready{steps, e.secure(ctx, nil, steps), source}, true)
	}
	if err == nil {
		err = e.end(ctx, op, out)
	}
	if err != nil {
		return nil, unfinished(what, op.Operation, err)
	}
	return restored(op.Operation, out), nil
}

// forgotten is why nothing was done for an operation that had ended.
const forgotten = "it had been carried out to the end, which the store did not know any more: nothing was done again"

// lostJournal is why an operation ends half-way.
const lostJournal = "it ends half-way, and files named .rewind-tmp-… that it left behind may be here still: what was left to do is not known any more"

// strangeError says of an unfinished operation of another directory that it is
// left alone, nil if there is none.
func strangeError(h records.History) error {
	if h.Strange == nil {
		return nil
	}
	return fmt.Errorf("a %s %w and not known to have begun here, but perhaps in another directory that had this name, or of which this is a copy: it is left alone", h.Strange.Kind, ErrUnfinished)
}

// clear removes the temporary files of an operation that was interrupted and is
// to be taken back. The notes name those that could not be removed. Without an
// operation it does nothing.
func (e *Engine) clear(ctx context.Context, open *Operation) ([]Note, error) {
	if open == nil {
		return nil, nil
	}
	steps, err := e.steps(ctx, open)
	if isLost(err) {
		return []Note{{Path: ".", Reason: fmt.Sprintf("files named .rewind-tmp-… that it left behind may be here still: %v", err)}}, nil
	}
	if err != nil {
		return nil, err
	}
	sure, err := e.secure(ctx, nil, steps)() // else what lies beside a path may be all there is of it
	if err != nil {
		return nil, err
	}
	out, err := apply.Clear(ctx, e.root, steps, &apply.Options{Alg: e.alg, Refuse: sure.Refuse, Key: open.Key, Protected: e.protected()})
	if err == nil && len(out.Left) > 0 {
		err = e.update(ctx, func(u *records.Update) error { return u.Leftover(false, out.Left...) })
	}
	return notes(out.Conflicts), err
}
