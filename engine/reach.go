package engine

import (
	"fmt"
	"iter"
	"path"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// reach visits what snapshots need, each object once over all snapshots.
type reach struct {
	e    *Engine
	load tree.Loader
	seen map[reached]bool

	promised func(oid.ID) bool // of the snapshot that is visited; nil of none
	above    []oid.ID          // git's trees that are being visited
}

// reached is an object with the sense in which it is read: a gitlink names a
// commit elsewhere in a git tree, a tree of ours in an overlay.
type reached struct {
	id      oid.ID
	overlay bool
}

// An object is what a snapshot needs, and where.
type object struct {
	id   oid.ID
	kind oid.Kind
	path string // "" for what has no path
}

func newReach(e *Engine, load tree.Loader) *reach {
	return &reach{e: e, load: load, seen: map[reached]bool{}}
}

// snapshot yields every object a snapshot needs and that was not yielded
// before. A tree that cannot be read is yielded, then its error, unless a remote
// promised it; the walk goes on if the caller does.
func (r *reach) snapshot(s *Snapshot) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		roots := []object{{id: s.ID, kind: oid.Commit}, {id: s.Rules.Exclude, kind: oid.Blob}, {id: s.SkippedIn, kind: oid.Blob}}
		for _, id := range s.Rules.Ignore {
			roots = append(roots, object{id: id, kind: oid.Blob})
		}
		for _, n := range s.Nested {
			roots = append(roots, object{id: n.Exclude, kind: oid.Blob})
		}
		for _, o := range roots {
			if !r.visit(o, false, yield) {
				return
			}
		}
		r.promised = r.e.promised(s, r.load)
		defer func() { r.promised = nil }()
		if r.tree("", s.Tree, false, yield) {
			r.tree("", s.Overlay, true, yield)
		}
	}
}

// visit yields an object once; false: the caller wants no more.
func (r *reach) visit(o object, overlay bool, yield func(object, error) bool) bool {
	key := reached{o.id, overlay}
	if o.id.IsZero() || r.seen[key] {
		return true
	}
	r.seen[key] = true
	return yield(o, nil)
}

// tree yields a tree and what it holds; false: the caller wants no more.
func (r *reach) tree(at string, id oid.ID, overlay bool, yield func(object, error) bool) bool {
	if id.IsZero() || r.seen[reached{id, overlay}] {
		return true
	}
	if !r.visit(object{id: id, kind: oid.Tree, path: at}, overlay, yield) {
		return false
	}
	payload, err := r.load(id)
	if err != nil && !overlay && r.promised != nil && r.promised(id) {
		r.again(id)
		return true
	}
	if err != nil {
		return yield(object{id: id, kind: oid.Tree, path: at}, err)
	}
	entries, err := tree.Decode(payload, r.e.alg)
	if err != nil {
		return yield(object{id: id, kind: oid.Tree, path: at}, fmt.Errorf("%w: tree %v: %w", ErrDamaged, id, err))
	}
	if !overlay {
		r.above = append(r.above, id)
		defer func() { r.above = r.above[:len(r.above)-1] }()
	}
	for _, e := range entries {
		if !r.entry(path.Join(at, e.Name), e, overlay, yield) {
			return false
		}
	}
	return true
}

func (r *reach) entry(at string, e tree.Entry, overlay bool, yield func(object, error) bool) bool {
	switch e.Mode.Type() {
	case tree.Dir:
		return r.tree(at, e.ID, overlay, yield)
	case tree.Nested:
		return !overlay || r.tree(at, e.ID, overlay, yield)
	}
	return r.visit(object{id: e.ID, kind: oid.Blob, path: at}, overlay, yield)
}
