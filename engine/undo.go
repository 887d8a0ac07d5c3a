package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/durable"
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
	if h.Open != nil && h.Open.Kind == kind {
		to, err = e.begun(ctx, h.Open)
	} else {
		_, to, err = e.reverted(ctx, kind)
	}
	if err != nil {
		return nil, err
	}
	p, _, err := e.preview(ctx, to)
	return p, err
}

// begun returns where an unfinished undo or redo leads.
func (e *Engine) begun(ctx context.Context, open *Operation) (to aim, err error) {
	var taken *Operation
	err = e.view(ctx, func(v *records.View) (err error) {
		taken, err = v.Operation(open.Reverts)
		return err
	})
	if err != nil {
		return to, err
	}
	if to, err = e.aimAt(ctx, open.To, &RestoreOptions{Paths: texts(open.Paths)}); err == nil && taken != nil {
		err = to.takeBack(ctx, e, taken)
	}
	return to, err
}

func (e *Engine) revert(ctx context.Context, kind string) (*Restored, error) {
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
	if h.Open != nil && (h.Open.Kind == kind || h.Open.Kind == "undo") {
		if h.Open.Kind == kind {
			return e.recoverLocked(ctx, lock)
		}
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

// reverted returns the operation that an undo or redo takes back, and where
// that leads.
func (e *Engine) reverted(ctx context.Context, kind string) (op *Operation, to aim, err error) {
	h, err := e.history(ctx)
	if err != nil {
		return nil, to, err
	}
	if op = h.Undo; kind == "redo" {
		op = h.Redo
	}
	if op == nil {
		return nil, to, nothingTo(kind)
	}
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
	if isLost(err) {
		return []Note{{Path: ".", Reason: fmt.Sprintf("files named .rewind-tmp-… that it left behind may be here still: %v", err)}}, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := apply.Clear(ctx, e.root, steps, &apply.Options{Alg: e.alg, Key: open.Key, Protected: e.protected()})
	if err == nil && len(out.Left) > 0 {
		err = e.update(ctx, func(u *records.Update) error { return u.AddLeftovers(out.Left) })
	}
	return notes(out.Conflicts), err
}

// isLost reports whether something is not to be had any more, or not by this
// version.
func isLost(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewerFormat) }

// steps returns the plan of an operation.
func (e *Engine) steps(ctx context.Context, op *Operation) ([]apply.Step, error) {
	_, journal, err := e.objects.Read(ctx, op.Plan)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	steps, err := decodeSteps(journal)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	return steps, nil
}

// Recover finishes an operation that a crash left unfinished, and says what it
// did; nil if there was none. Every method that changes the worktree or records
// it does so first. One that cannot be finished now is [ErrUnfinished].
func (e *Engine) Recover(ctx context.Context) (done *Restored, err error) {
	h, err := e.history(ctx)
	if err != nil || h.Open == nil {
		return nil, err
	}
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return e.recoverFirst(ctx, lock)
}

// recoverFirst is recoverLocked at the beginning of another verb. It reports
// what it did at once, since the verb itself may fail.
func (e *Engine) recoverFirst(ctx context.Context, lock *durable.Held) (*Restored, error) {
	done, err := e.recoverLocked(ctx, lock)
	if done != nil && e.opt.Recovered != nil {
		e.opt.Recovered(done)
	}
	return done, err
}

// recoverIfPossible is Recover for verbs that go on where an operation cannot
// be finished. Left says which operation that is, and why.
func (e *Engine) recoverIfPossible(ctx context.Context) (done *Restored, left, err error) {
	done, err = e.Recover(ctx)
	if errors.Is(err, ErrUnfinished) && ctx.Err() == nil {
		return nil, err, nil
	}
	if err != nil {
		return nil, nil, err
	}
	h, err := e.history(ctx)
	return done, strangeError(h), err
}

// history reads the worktree's history.
func (e *Engine) history(ctx context.Context) (h records.History, err error) {
	err = e.view(ctx, func(v *records.View) (err error) {
		h, err = v.History()
		return err
	})
	return h, err
}

// strangeError says of an unfinished operation of another directory that it is
// left alone, nil if there is none.
func strangeError(h records.History) error {
	if h.Strange == nil {
		return nil
	}
	return fmt.Errorf("a %s %w and not known to have begun here, but perhaps in another directory that had this name, or of which this is a copy: it is left alone", h.Strange.Kind, ErrUnfinished)
}

// forgotten is why nothing was done for an operation that had ended.
const forgotten = "it had been carried out to the end, which the store did not know any more: nothing was done again"

// lostJournal is why an operation ends half-way.
const lostJournal = "it ends half-way, and files named .rewind-tmp-… that it left behind may be here still: what was left to do is not known any more"

// recoverLocked finishes what is unfinished and says what came of it; nil if
// there is nothing. The operation lock is held, so whoever began it is dead.
func (e *Engine) recoverLocked(ctx context.Context, lock *durable.Held) (*Restored, error) {
	h, err := e.history(ctx)
	if err != nil || h.Open == nil {
		return nil, err
	}
	op := running{h.Open, lock}
	what := "the " + op.Kind + " that was interrupted"
	if hasEnded(op) {
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
		out, err = e.apply(ctx, op, steps, true)
	}
	if err == nil {
		err = e.end(ctx, op, out)
	}
	if err != nil {
		return nil, unfinished(what, op.Operation, err)
	}
	return restored(op.Operation, out), nil
}

// The lock file of the operations tells, beside the store, which of them ended
// last: were the store to forget that end, a journal that is replayed would
// undo what was done since. It is written where it costs no sync.

func noteEnd(op running) {
	_, _ = op.lock.WriteAt([]byte(op.Key), 0)
}

func hasEnded(op running) bool {
	key := make([]byte, len(op.Key))
	n, _ := op.lock.ReadAt(key, 0)
	return n > 0 && string(key[:n]) == op.Key
}

func pathsOf(texts []string) []Path {
	var out []Path
	for _, t := range texts {
		out = append(out, Path(t))
	}
	return out
}

func texts(paths []Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, string(p))
	}
	return out
}

// A journal is the plan of an operation as it is kept: with a version, because
// it may be read by another build than the one that wrote it.
type journal struct {
	Version int          `json:"version"`
	Steps   []apply.Step `json:"steps"`
}

const journalVersion = 1

func encodeSteps(steps []apply.Step) ([]byte, error) {
	return json.Marshal(journal{Version: journalVersion, Steps: steps})
}

func decodeSteps(data []byte) ([]apply.Step, error) {
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%w: the journal: %w", ErrDamaged, err)
	}
	if j.Version != journalVersion {
		return nil, fmt.Errorf("%w: a journal of version %d", ErrNewerFormat, j.Version)
	}
	return j.Steps, nil
}
