package engine

import (
	"github.com/seed-82afce7a/rewind/engine/reach"
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

// reach returns a walk over what snapshots need.
func (e *Engine) reach(load tree.Loader) *reach.Walk {
	return &reach.Walk{Algorithm: e.alg, Load: load, Promised: e.promised}
}
