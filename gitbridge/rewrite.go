package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// foldMax is how many snapshots one link of a folded chain keeps. Commits of
// so many parents exist in the field; every tool has met them.
const foldMax = 64

// Rewrite drops snapshots from the chain of the store ref: those that keep does
// not approve. The others stay, in their order, and so do snapshots appended by
// others meanwhile; what stays is folded, as by [Repo.Fold]. Where keep
// approves nothing, nothing is dropped; where a snapshot cannot be read, the
// chain is left alone. No object is deleted: what nothing refers to any longer
// goes with git's next collection. Rewrite returns what was dropped.
func (r *Repo) Rewrite(ctx context.Context, keep func(StoreSnapshot) bool) (dropped []oid.ID, err error) {
	err = r.rework(ctx, "rewrite", func(ctx context.Context, w *writer, tip oid.ID) (oid.ID, error) {
		w.forget(ctx)
		var kept []StoreSnapshot
		kept, dropped, err = r.sift(ctx, tip, keep)
		if err != nil || len(dropped) == 0 || len(kept) == 0 {
			dropped = nil
			return tip, err
		}
		return w.fold(ctx, kept, oid.ID{})
	})
	if err != nil {
		return nil, err
	}
	return dropped, nil
}

// Fold makes the chain of the store ref short: its newest links, which keep one
// snapshot each, become links that keep many. What is folded already is left as
// it is, so that folding now and then costs little however long the chain is. A
// snapshot of another program stays the last parent of a link, where readers
// that know only links of one snapshot find it. No snapshot is dropped.
func (r *Repo) Fold(ctx context.Context) error {
	return r.rework(ctx, "fold", func(ctx context.Context, w *writer, tip oid.ID) (oid.ID, error) {
		var loose []StoreSnapshot
		for l, err := range r.links(ctx, tip) {
			if err != nil {
				return tip, broken(err)
			}
			if len(l.snapshots) > 1 || l.last.IsZero() {
				if len(loose) < 2 {
					return tip, nil
				}
				slices.Reverse(loose)
				return w.fold(ctx, loose, l.id)
			}
			s := r.storeSnapshot(l.snapshots[0])
			if s.Err != nil {
				return tip, broken(s.Err)
			}
			loose = append(loose, s)
		}
		return tip, nil
	})
}

// Rebuild makes a chain anew where links of the old one are lost: it keeps the
// snapshots given, whose commits git must have, and what can still be read of
// the old chain, by their times, but not those that are lost. A whole chain that
// has them all and none of these is left alone.
func (r *Repo) Rebuild(ctx context.Context, snapshots []oid.ID, lost map[oid.ID]bool) error {
	return r.rework(ctx, "rebuild", func(ctx context.Context, w *writer, tip oid.ID) (oid.ID, error) {
		whole, seen := true, map[oid.ID]bool{}
		var all []StoreSnapshot
		take := func(s StoreSnapshot) {
			good := s.Err == nil && !lost[s.ID]
			if !seen[s.ID] && good {
				all = append(all, s)
			}
			seen[s.ID] = true
			whole = whole && good
		}
		for id, err := range r.chain(ctx, tip) {
			if whole = whole && err == nil; err != nil {
				break
			}
			take(r.storeSnapshot(id))
		}
		for _, id := range snapshots {
			whole = whole && seen[id]
			take(r.storeSnapshot(id))
		}
		if ctx.Err() != nil || whole || len(all) == 0 {
			return tip, ctx.Err()
		}
		slices.SortStableFunc(all, func(a, b StoreSnapshot) int { return a.Time.Compare(b.Time) })
		return w.fold(ctx, all, oid.ID{})
	})
}

// rework replaces the chain by what change makes of it, again and again until
// nobody else has moved the ref in between.
func (r *Repo) rework(ctx context.Context, what string, change func(ctx context.Context, w *writer, tip oid.ID) (oid.ID, error)) error {
	w, err := r.writer(&Job{Durable: true}) // the earlier links are let go with this
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, StoreRef, err)
	}
	defer w.close()
	var until time.Time
	for {
		tip, err := r.tip()
		repair := errors.Is(err, ErrBroken) && what == "rebuild"
		if repair {
			tip, err = oid.ID{}, nil
		}
		if err == nil {
			var head oid.ID
			if head, err = change(ctx, w, tip); err == nil && head != tip {
				err = w.swap(ctx, gitref.Update{Name: StoreRef, Old: tip, New: head, Message: what, Time: time.Now(), Repair: repair})
			}
		}
		if err == nil {
			return nil
		}
		if until.IsZero() {
			until = time.Now().Add(patience)
		}
		if !errors.Is(err, gitref.ErrMoved) || ctx.Err() != nil || time.Now().After(until) {
			return fmt.Errorf("%s %s: %w", what, StoreRef, err)
		}
	}
}

// broken says of the chain that it cannot be read, unless nobody wanted to wait
// for it any more.
func broken(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}

// sift divides the snapshots of a chain; those to keep are the oldest first.
func (r *Repo) sift(ctx context.Context, tip oid.ID, keep func(StoreSnapshot) bool) (kept []StoreSnapshot, dropped []oid.ID, err error) {
	for id, err := range r.chain(ctx, tip) {
		if err != nil {
			return nil, nil, broken(err)
		}
		s := r.storeSnapshot(id)
		if s.Err != nil {
			return nil, nil, broken(s.Err)
		}
		if keep(s) {
			kept = append(kept, s)
		} else {
			dropped = append(dropped, id)
		}
	}
	slices.Reverse(kept)
	return kept, dropped, nil
}

// fold writes links that keep the snapshots, the oldest first, on top of the
// link base, and returns the newest. Without a base the first link keeps one.
func (w *writer) fold(ctx context.Context, snapshots []StoreSnapshot, base oid.ID) (head oid.ID, err error) {
	alg := w.r.Algorithm()
	links := made{}
	var ids, group []oid.ID
	head = base
	for i, s := range snapshots {
		group = append(group, s.ID)
		if s.Native && len(group) < foldMax && i < len(snapshots)-1 && !head.IsZero() {
			continue
		}
		p := encodeLink(group, Commit{Time: s.Time, Identity: s.Identity}, head, alg)
		head, group = alg.Sum(oid.Commit, p), nil
		links[head] = p
		if !w.r.db.Freshen(head) {
			ids = append(ids, head)
		}
	}
	empty := w.r.emptyTree()
	if !w.r.db.Freshen(empty) {
		nothing := func(oid.ID) (Object, error) { return gitodb.Payload(oid.Tree, nil), nil }
		if err := w.write(ctx, []oid.ID{empty}, nothing); err != nil {
			return oid.ID{}, err
		}
	}
	w.note([]oid.ID{empty}, nil)
	if err := w.write(ctx, ids, links.source); err != nil {
		return oid.ID{}, err
	}
	for id, payload := range links {
		w.noteLink(id, payload)
	}
	return head, nil
}
