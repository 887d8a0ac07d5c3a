package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
)

// view reads the store if there is one; without one there is nothing to read.
func (e *Engine) view(ctx context.Context, f func(*records.View) error) error {
	s := e.opened()
	if s == nil {
		return nil
	}
	return objects.StoreError(s.View(ctx, func(v *cas.View) error { return f(records.In(v, e.owner())) }))
}

// update changes the store in a transaction of its own, which is durable when
// update returns nil. There must be a store.
func (e *Engine) update(ctx context.Context, f func(*records.Update) error) error {
	return objects.StoreError(e.opened().Update(ctx, e.changing(f)))
}

// changing makes a change of records one of the store.
func (e *Engine) changing(f func(*records.Update) error) func(*cas.Update) error {
	return func(u *cas.Update) error { return f(records.Change(u, e.owner())) }
}

// owner is the worktree as its records name it.
func (e *Engine) owner() *records.Owner {
	return &records.Owner{Key: e.key, Birth: e.birth, Root: Path(e.root), Git: e.repo != nil, Now: e.now}
}
