package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Sync brings into git every snapshot that is not whole there: because the
// bridge failed before, because the ref was lost or is broken, or because git
// lost objects. Every snapshot brings itself into git; Sync looks at all of
// them, and folds the chain. It does nothing without git.
func (e *Engine) Sync(ctx context.Context) error {
	if e.repo == nil || e.opened() == nil {
		return nil
	}
	e.repo.Refresh()
	// What is pending is among the lost, and they go in the order in which they
	// were taken.
	lost, all, err := e.lost(ctx)
	if err != nil {
		return err
	}
	for _, id := range lost {
		if err := e.bridgeOne(ctx, id, true, nil); err != nil {
			return fmt.Errorf("snapshot %v is in the store, but not whole in git: %w", id, err)
		}
	}
	if err := e.repo.Rebuild(ctx, all); err != nil {
		return err
	}
	if err := e.bridge(ctx); err != nil {
		return err
	}
	return e.repo.Fold(ctx)
}

// lost returns the snapshots of the store that the ref does not keep, or of
// which git lacks an object, the oldest first; and all that the store has.
func (e *Engine) lost(ctx context.Context) (lost, stored []oid.ID, err error) {
	kept := map[oid.ID]bool{}
	for s, err := range e.repo.Snapshots(ctx) {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			break // what lies behind a broken link is kept by nothing
		}
		kept[s.ID] = s.Err == nil
	}
	if err := e.dropPurged(ctx, kept); err != nil {
		return nil, nil, err
	}
	all, err := e.stored(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := newReach(e, e.trees(ctx))
	for _, s := range slices.Backward(all) {
		whole := kept[s.ID]
		r.tree("", s.Tree, false, func(o object, err error) bool {
			whole = whole && err == nil && (e.repo.Has(o.id) || o.id == e.emptyTree())
			return ctx.Err() == nil
		})
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if stored = append(stored, s.ID); !whole {
			lost = append(lost, s.ID)
		}
	}
	return lost, stored, nil
}

// dropPurged finds snapshots that the ref keeps although a purge gave them other
// ids: who brought them into git died before he could notice.
func (e *Engine) dropPurged(ctx context.Context, kept map[oid.ID]bool) error {
	var purged []oid.ID
	err := e.view(ctx, func(v *cas.View) error {
		for id := range kept {
			if !renamed(v, id).IsZero() {
				purged = append(purged, id)
			}
		}
		return nil
	})
	if err != nil || len(purged) == 0 {
		return err
	}
	return storeError(e.opened().Update(ctx, func(u *cas.Update) error {
		for _, id := range purged {
			if err := u.Table(tableDropped).Put(id.Bytes(), []byte{1}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// stored returns every snapshot that the store has a record of, newest first.
func (e *Engine) stored(ctx context.Context) (all []*Snapshot, err error) {
	err = e.view(ctx, func(v *cas.View) error {
		for s, err := range snapshots(v) {
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	return all, err
}

// trees loads trees and remembers none, for walks that meet each once.
func (e *Engine) trees(ctx context.Context) tree.Loader {
	return func(id oid.ID) ([]byte, error) {
		if id == e.emptyTree() {
			return nil, nil
		}
		return e.payload(ctx, oid.Tree, id)
	}
}

func (e *Engine) emptyTree() oid.ID { return e.alg.Sum(oid.Tree, nil) }
