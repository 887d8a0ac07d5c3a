package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// promised returns the function that says whether an object of a snapshot, if it
// is nowhere, is one that a remote has promised and that was never on disk.
func (e *Engine) promised(s *Snapshot, load tree.Loader) func(oid.ID) bool {
	if e.repo == nil {
		return nil
	}
	return e.repo.Promised(s.Tree, s.Overlay, load)
}

// left reports whether an object that is being visited is neither in the store
// nor in git, and need not be.
func (r *reach) left(ctx context.Context, id oid.ID) bool {
	if r.promised == nil || !r.promised(id) || r.e.kept(ctx, id) {
		return false
	}
	r.again(id)
	return true
}

// again has an object that was left visited once more, with the trees around it:
// the next snapshot may have had it on disk.
func (r *reach) again(id oid.ID) {
	delete(r.seen, reached{id: id})
	for _, tree := range r.above {
		delete(r.seen, reached{id: tree})
	}
}
