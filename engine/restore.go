package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Restore makes the worktree what it was at a snapshot.
//
// The order is the guarantee. First one durable transaction records the present
// as a snapshot, and the operation with its plan. Then the changes are made. Each
// is checked against what the plan expects: an edit that was made meanwhile is a
// conflict, and survives. Then comes one sync, and last the operation's end. After
// a crash anywhere the next command finishes what was begun, and [Engine.Undo]
// takes it back.
//
// If nothing has to change, nothing is recorded, and Undo has no step to take
// back. The files stand at the snapshot all the same.
func (e *Engine) Restore(ctx context.Context, id oid.ID, opt *RestoreOptions) (*Restored, error) {
	to, err := e.aimAt(ctx, id, opt)
	if err != nil {
		return nil, err
	}
	to.chosen = true
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	finished, err := e.recoverFirst(ctx, lock)
	if err != nil {
		return nil, err
	}
	r, err := e.operate(ctx, running{&Operation{Kind: records.KindRestore}, lock}, to)
	if err == nil {
		r.Recovered = finished
	}
	return r, err
}
