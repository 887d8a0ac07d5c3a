package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Sync brings into git every snapshot that is not there yet. Every snapshot
// does so; Sync is for when that failed. It does nothing without git.
func (e *Engine) Sync(ctx context.Context) error { return e.bridge(ctx) }

// bridge brings every pending snapshot into git, oldest first.
func (e *Engine) bridge(ctx context.Context) error {
	if e.repo == nil {
		return nil
	}
	rows, err := e.pending(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	for _, row := range rows {
		if err := e.bridgeOne(ctx, row.id); err != nil {
			return fmt.Errorf("snapshot %v is in the store, but not in git yet: %w", row.id, err)
		}
	}
	return storeError(e.opened().Update(ctx, func(u *cas.Update) error {
		for _, row := range rows {
			if err := u.Table(tablePending).Delete(row.seq); err != nil {
				return err
			}
		}
		return nil
	}))
}

// bridgeOne writes what git lacks of one snapshot and appends it to the ref. A
// snapshot that was pruned before it reached git needs no bridge.
func (e *Engine) bridgeOne(ctx context.Context, id oid.ID) error {
	_, err := e.Find(ctx, id)
	if errors.Is(err, ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return err
	}
	_, payload, err := e.object(ctx, id)
	if err != nil {
		return err
	}
	_, err = e.repo.Bridge(ctx, gitbridge.Job{
		Snapshot: id,
		Commit:   payload,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return e.object(ctx, id) },
	})
	return err
}
