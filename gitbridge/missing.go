package gitbridge

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// missing finds what git lacks of a snapshot's tree, what an object needs
// before it. What is equal to trees that git has whole is neither read nor
// looked up; what is looked up and there, which is found, gets a new age.
//
// Both may have millions of ids: the search is not to remember the contents a second
// time, so they are looked up where it asks whether to skip them.
func (w *writer) missing(ctx context.Context, root oid.ID, whole []oid.ID) (_, _ []oid.ID, err error) {
	var missing, found oid.Index
	look := func(id oid.ID) (promised bool) {
		switch {
		case w.r.db.Freshen(id) && w.sound(id):
			found.Add(id)
		case w.promised(id):
			return true
		default:
			missing.Add(id)
		}
		return false
	}
	if w.job.Beyond != nil && slices.Contains(whole, w.job.Since) {
		for _, id := range w.job.Beyond {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			look(id)
		}
		return missing.IDs(), found.IDs(), nil
	}
	load := func(id oid.ID, _ ...oid.ID) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return w.tree(id)
	}
	skip := func(id oid.ID) bool {
		_, lacks := missing.Place(id)
		_, has := found.Place(id)
		return lacks || has || !look(id) // what is promised the search remembers
	}
	s := tree.Search{Algorithm: w.r.Algorithm(), Load: load, Skip: skip}
	for n, err := range s.Beyond(root, whole...) {
		if err != nil {
			return nil, nil, err
		}
		if n.Kind == oid.Tree {
			look(n.ID)
		}
	}
	return missing.IDs(), found.IDs(), nil
}

// tree reads a tree of the snapshot, or one to compare it with: from memory, from git, which
// has most of them and no lock that the snapshot's own transaction holds, or else
// from the store.
func (w *writer) tree(id oid.ID) ([]byte, error) {
	if id == w.r.emptyTree() {
		return nil, nil
	}
	if w.job.Tree != nil {
		if p, ok := w.job.Tree(id); ok {
			return p, nil
		}
	}
	kind, payload, err := w.r.db.Read(id)
	if err != nil {
		var other error
		if kind, payload, other = w.job.Load(id); other != nil {
			return nil, fmt.Errorf("%w: tree %v: %w; %w", ErrMissing, id, other, err)
		}
	}
	if kind != oid.Tree {
		return nil, fmt.Errorf("%v is a %v, not a tree: %w", id, kind, tree.ErrMalformed)
	}
	return payload, nil
}

func (r *Repo) emptyTree() oid.ID { return r.Algorithm().Sum(oid.Tree, nil) }
