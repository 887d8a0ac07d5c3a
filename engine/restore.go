package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// RestoreOptions say how far a restore, undo or redo goes.
type RestoreOptions struct {
	// Paths limit it to these paths, slash-separated below the worktree, and to
	// what lies below them; empty: everything. A path that exists, in the snapshot
	// or on disk, means itself. Another one with glob characters is a pattern
	// with the rules of gitignore(5): without a slash it matches a name in any
	// directory, and `**` any directories. Before a path ":(literal)" and
	// ":(glob)" say which it is, and ":(prefix:N)" that its first N bytes, a
	// directory with its slash, are no pattern and the pattern begins there.
	Paths []string
}

// Restore makes the worktree what it was at a snapshot.
//
// The order is the guarantee: a durable snapshot of the present and the durable
// operation with its plan, in one transaction, the changes (each checked against what the plan
// expects, so that an edit made meanwhile is a conflict and survives), one
// sync, and the operation's end. After a crash anywhere the next command
// finishes what was begun, and [Engine.Undo] takes it back.
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
