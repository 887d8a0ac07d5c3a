package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/durable"
)

// steps returns the plan of an operation.
func (e *Engine) steps(ctx context.Context, op *Operation) ([]apply.Step, error) {
	_, text, err := e.objects.Read(ctx, op.Plan)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	steps, err := objects.DecodeSteps(text)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	return steps, nil
}

// isLost reports whether something is not to be had any more, or not by this
// version.
func isLost(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, objects.ErrNewerFormat)
}

// A running operation holds the lock of operations: nobody else carries out
// another one in this worktree.
type running struct {
	*Operation
	lock *durable.Held
}

// openOperation returns the operation that has not ended, nil if there is none, and
// the temporary files that it may have now, as far as its plan can be read.
func (e *Engine) openOperation(ctx context.Context) (op *Operation, left map[string]bool, err error) {
	h, err := e.history(ctx)
	if err != nil || h.Open == nil {
		return nil, nil, err
	}
	steps, err := e.steps(ctx, h.Open)
	if err != nil && !isLost(err) {
		return nil, nil, err
	}
	return h.Open, apply.Leftovers(steps, h.Open.Key), nil
}

// shownUnfinished is the warning beside what is shown of the present while an
// operation has not ended; nil without an operation.
func shownUnfinished(op *Operation) error {
	if op == nil {
		return nil
	}
	return fmt.Errorf("%s %w: what is shown is of the files as they are now, and the next command that changes or records files finishes it first", op.Kind, ErrUnfinished)
}

// A restore may leave temporary files that it could not remove. They are not the
// user's. The store has their paths: a file is never taken for one of them by its
// name alone. Each later capture tries to remove them, and leaves out those that
// stay.

// leftovers returns the temporary files that are still there. It tries to remove
// them first. In a dry run it removes nothing, and returns also those of an
// operation that has not ended.
func (e *Engine) leftovers(ctx context.Context, known []string, dry bool) (map[string]bool, error) {
	if dry {
		return e.atWork(ctx, setOf(known))
	}
	if len(known) == 0 {
		return nil, nil
	}
	stay, err := apply.Sweep(e.root, known, &apply.Options{Alg: e.alg, Protected: e.protected()})
	if err != nil || len(stay) == len(known) {
		return setOf(known), nil // they stay, and are left out
	}
	gone := slices.DeleteFunc(known, func(path string) bool { return slices.Contains(stay, path) })
	return setOf(stay), e.update(ctx, func(u *records.Update) error { return u.Leftover(true, gone...) })
}

// atWork adds the temporary files that an operation which has not ended may have
// now. If its plan is lost, nobody knows them, and none are added.
func (e *Engine) atWork(ctx context.Context, known map[string]bool) (map[string]bool, error) {
	_, left, err := e.openOperation(ctx)
	maps.Copy(known, left)
	return known, err
}

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, path := range paths {
		set[path] = true
	}
	return set
}

// The lock file of the operations has the key of the operation that ended last.
// The store records that end too, but somebody may put an older copy of the store
// in its place. To that store the operation has not ended. If its steps were
// carried out again, they would undo what was done since. The file is not synced:
// after a loss of power it may have an older key.

// noteEnd writes the key of an operation that has ended.
func noteEnd(lock io.WriterAt, key string) { _, _ = lock.WriteAt([]byte(key), 0) }

// hasEnded reports whether the operation with a key was the last to end.
func hasEnded(lock io.ReaderAt, of string) bool {
	key := make([]byte, len(of))
	n, _ := lock.ReadAt(key, 0)
	return n > 0 && string(key[:n]) == of
}
