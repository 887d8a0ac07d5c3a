package gitbridge

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A StoreSnapshot is a snapshot that the store ref keeps, ours or
// pi-rewind-hook's.
type StoreSnapshot struct {
	ID     oid.ID
	Commit       // of foreign snapshots without an overlay, and with a time to the second
	Native bool  // made by rewind
	Err    error // why the commit cannot be read; then only ID is set
}

// Snapshots yields what the store ref keeps, the newest link of the chain
// first; pi-rewind-hook may have put the chain into another order than time's.
// A snapshot whose commit cannot be read is yielded with Err. The sequence ends
// with an error where the chain itself is broken.
func (r *Repo) Snapshots(ctx context.Context) iter.Seq2[StoreSnapshot, error] {
	return func(yield func(StoreSnapshot, error) bool) {
		r.commits.forget()
		tip, err := r.tip()
		if err != nil {
			yield(StoreSnapshot{}, fmt.Errorf("%s: %w", StoreRef, err))
			return
		}
		for id, err := range r.chain(ctx, tip) {
			if err != nil {
				yield(StoreSnapshot{}, fmt.Errorf("%s: %w", StoreRef, err))
				return
			}
			if !yield(r.storeSnapshot(id), nil) {
				return
			}
		}
	}
}

func (r *Repo) storeSnapshot(id oid.ID) StoreSnapshot {
	c, err := r.commit(id)
	if err != nil {
		return StoreSnapshot{ID: id, Err: err}
	}
	return StoreSnapshot{ID: id, Commit: c.Commit, Native: c.Native}
}

// chain yields the ids of the snapshots that a link and those before it keep.
// It ends where a commit is none of these.
func (r *Repo) chain(ctx context.Context, tip oid.ID) iter.Seq2[oid.ID, error] {
	return func(yield func(oid.ID, error) bool) {
		for link, err := range r.links(ctx, tip) {
			if err != nil {
				yield(oid.ID{}, err)
				return
			}
			for _, id := range slices.Backward(link.snapshots) {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// A link is one commit of the chain, which keeps snapshots.
type link struct {
	id        oid.ID
	last      oid.ID   // the link before, zero for the first
	snapshots []oid.ID // its snapshots, the oldest first: one, or several that were folded into it
}

// links yields the links of a chain, the newest first. It ends where a
// commit is none.
func (r *Repo) links(ctx context.Context, tip oid.ID) iter.Seq2[link, error] {
	return func(yield func(link, error) bool) {
		for !tip.IsZero() {
			k, err := r.commit(tip)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(link{}, err)
				return
			}
			if !k.isLink() {
				return
			}
			l := link{id: tip, snapshots: k.Parents}
			if len(k.Parents) > 1 {
				l.last, l.snapshots = k.Parents[0], k.Parents[1:]
			}
			if !yield(l, nil) {
				return
			}
			tip = l.last
		}
	}
}

// Grown returns the head of the chain, and the snapshots of the links that came since an
// earlier one; with the zero id those of all links. Follows says that the chain leads to
// that link, or can be read to its end. More than a thousand links are not searched for
// one. The errors are those of [Repo.Sound], and the context's.
func (r *Repo) Grown(ctx context.Context, from oid.ID) (tip oid.ID, snapshots map[oid.ID]bool, follows bool, err error) {
	if tip, err = r.tip(); err == nil {
		snapshots, follows = r.grown(ctx, tip, from)
		err = ctx.Err()
	}
	return tip, snapshots, follows, err
}

func (r *Repo) grown(ctx context.Context, tip, from oid.ID) (snapshots map[oid.ID]bool, follows bool) {
	snapshots = map[oid.ID]bool{}
	if tip == from {
		return snapshots, true
	}
	n := 0
	for l, err := range r.links(ctx, tip) {
		if n++; err != nil || !from.IsZero() && n > chainMax {
			return snapshots, false
		}
		for _, id := range l.snapshots {
			snapshots[id] = true
		}
		if !from.IsZero() && l.last == from {
			return snapshots, true
		}
	}
	return snapshots, from.IsZero()
}
