package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Rewrite drops snapshots from the chain of the store ref: those that keep does
// not approve. The others stay, in their order, and so do snapshots appended by
// others meanwhile. Where keep approves nothing, nothing is dropped; where a
// snapshot cannot be read, the chain is left alone. No object is deleted: what
// nothing refers to any longer goes with git's next collection. Rewrite returns
// what was dropped.
func (r *Repo) Rewrite(ctx context.Context, keep func(StoreSnapshot) bool) ([]oid.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, err := r.writer(nil)
	if err != nil {
		return nil, fmt.Errorf("rewrite %s: %w", StoreRef, err)
	}
	defer w.db.Close()
	for {
		dropped, err := w.rewrite(ctx, keep)
		if !errors.Is(err, gitref.ErrMoved) || ctx.Err() != nil {
			if err != nil {
				return nil, fmt.Errorf("rewrite %s: %w", StoreRef, err)
			}
			return dropped, nil
		}
	}
}

func (w *writer) rewrite(ctx context.Context, keep func(StoreSnapshot) bool) (dropped []oid.ID, err error) {
	tip, err := w.r.tip()
	if err != nil {
		return nil, err
	}
	var kept []StoreSnapshot
	for id, err := range w.r.chain(ctx, tip) {
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		s := w.r.storeSnapshot(id)
		if s.Err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, s.Err)
		}
		if keep(s) {
			kept = append(kept, s)
		} else {
			dropped = append(dropped, id)
		}
	}
	if len(dropped) == 0 || len(kept) == 0 {
		return nil, nil
	}
	var head oid.ID
	var ids []oid.ID
	links := commits{}
	for _, s := range slices.Backward(kept) { // the oldest first
		p := encodeKeepalive(s.ID, Commit{Time: s.Time, Identity: s.Identity}, head, w.r.Algorithm())
		head = w.r.Algorithm().Sum(oid.Commit, p)
		links[head] = p
		if !w.r.db.Freshen(head) {
			ids = append(ids, head)
		}
	}
	if err := w.write(ctx, ids, links.source); err != nil {
		return nil, err
	}
	return dropped, w.swap(ctx, gitref.Update{Name: StoreRef, Old: tip, New: head, Message: "rewrite", Time: time.Now()})
}
