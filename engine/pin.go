package engine

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Pin gives a snapshot a name. No prune drops a snapshot that has one. A name
// that another snapshot had moves to this one.
func (e *Engine) Pin(ctx context.Context, name string, id oid.ID) error {
	if name == "" {
		return fmt.Errorf("%w: a pin needs a name", ErrRefused)
	}
	if _, err := e.Find(ctx, id); err != nil {
		return err
	}
	return storeError(e.opened().Update(ctx, func(u *cas.Update) error {
		s, err := find(&u.View, id)
		if err == nil && s == nil {
			err = fmt.Errorf("%w: %v was pruned meanwhile", ErrNoSnapshot, id)
		}
		if err != nil {
			return err
		}
		return u.Table(tablePins).Put([]byte(name), s.ID.Bytes()) // a purge may have given it another id
	}))
}

// Unpin takes a name away. A name that nothing has is no error.
func (e *Engine) Unpin(ctx context.Context, name string) error {
	s := e.opened()
	if s == nil || name == "" {
		return nil
	}
	return storeError(s.Update(ctx, func(u *cas.Update) error {
		return u.Table(tablePins).Delete([]byte(name))
	}))
}
