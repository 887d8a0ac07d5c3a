package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/lookup"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Pin gives a snapshot a name. No prune drops a snapshot that has one. A name
// that another snapshot had moves to this one. A checkpoint that only another
// system keeps is [ErrRefused]: when that drops it, no pin of ours would hold it.
func (e *Engine) Pin(ctx context.Context, name string, id oid.ID) error {
	if name == "" {
		return fmt.Errorf("%w: a pin needs a name", ErrRefused)
	}
	if lookup.SpeaksOfItself(name) {
		return fmt.Errorf("%w: a pin cannot be called %q: that means a snapshot already", ErrRefused, name)
	}
	s, err := e.Find(ctx, id)
	if err != nil {
		return err
	}
	held := s.Source != nil && e.repo != nil && e.repo.Keeps(ctx, s.ID)
	if _, err := e.lookup.Record(ctx, s.ID); errors.Is(err, ErrNoSnapshot) && !held {
		return fmt.Errorf("%w: another system alone keeps %v, and a pin cannot hold it (rewind import takes it over)", ErrRefused, s.ID)
	}
	if _, err := e.needStore(ctx); err != nil {
		return err
	}
	if err := e.adopt(ctx); err != nil { // the store may be new, and its record lost
		return err
	}
	return e.update(ctx, func(u *records.Update) error {
		now, err := u.Find(s.ID)
		switch {
		case err != nil:
			return err
		case now != nil:
			return u.Pin(name, now.ID) // a purge may have given it another id
		case held:
			return u.Pin(name, s.ID)
		}
		return fmt.Errorf("%w: %v was pruned meanwhile", ErrNoSnapshot, id)
	})
}

// Unpin takes a name away. A name that nothing has is no error.
func (e *Engine) Unpin(ctx context.Context, name string) error {
	if e.opened() == nil || name == "" {
		return nil
	}
	return e.update(ctx, func(u *records.Update) error { return u.Pin(name, oid.ID{}) })
}
