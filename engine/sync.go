package engine

import (
	"context"
	"errors"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

// Sync puts right what a crash or another program has left: the store, an
// operation that was interrupted, and what git has of the snapshots.
//
// A store that lacks what was recorded last, as after an older copy of its file
// was put in its place, is from now on the one to go on with; what it has as
// unfinished may have ended since, and is given up. Every object of ours that
// git has is read back; what is not as it should be is put right, and what is
// missing is brought in. A damaged copy in a pack stays there beside the good
// one: that is [ErrDamaged]. With an error comes what was done before it.
func (e *Engine) Sync(ctx context.Context) (*Housekeeping, error) {
	out := &Housekeeping{}
	var err error
	out.Recovered, err = e.repair(ctx)
	if errors.Is(err, ErrUnfinished) && ctx.Err() == nil { // that hinders nothing here
		out.Unfinished, err = err, nil
	}
	if err == nil {
		var put int
		put, err = e.mirror.Sync(ctx)
		out.Objects = int64(put)
	}
	return out, err
}

// repair goes on with the store as it is, and finishes what is unfinished.
func (e *Engine) repair(ctx context.Context) (done *Restored, err error) {
	s, err := e.opened(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	behind, err := s.Accept(ctx)
	if err != nil {
		return nil, objects.StoreError(err)
	}
	if behind {
		if err := e.update(ctx, (*records.Update).GiveUpAll); err != nil {
			return nil, err
		}
	}
	return e.recoverFirst(ctx, lock)
}
