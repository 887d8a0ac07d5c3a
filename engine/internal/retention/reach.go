package retention

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Walk visits what snapshots need, each object once over all snapshots. It is
// for one goroutine.
type Walk struct {
	Algorithm oid.Algorithm
	Load      tree.Loader

	// Promised returns a function that is asked about objects of a snapshot
	// which are nowhere. It reports whether a remote has promised the object
	// and it was never on disk. The function is nil if no remote promises
	// anything; the field may be nil too.
	Promised func(s *records.Snapshot, load tree.Loader) func(oid.ID) bool

	seen     map[reached]bool
	promised func(oid.ID) bool // of the snapshot that is visited
	above    []oid.ID          // git's trees that are being visited
}

// reached is an object with the sense in which it is read: a gitlink names a
// commit elsewhere in a git tree, a tree of ours in an overlay.
type reached struct {
	id      oid.ID
	overlay bool
}

// An Object is what a snapshot needs, and where.
type Object struct {
	ID   oid.ID
	Kind oid.Kind
	Path string // "" for what has no path
}

// Beyond returns what snapshots need and neither others nor a tree of git, which may be
// none, do.
func (w *Walk) Beyond(ctx context.Context, these, others []*records.Snapshot, head oid.ID) (ids []oid.ID, err error) {
	for _, s := range others {
		for range w.Snapshot(s) { // from here on they are known
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	if !head.IsZero() {
		for range w.below(tree.Entry{Mode: tree.Dir, ID: head}, false) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range these {
		for o := range w.Snapshot(s) {
			ids = append(ids, o.ID)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Snapshot yields every object a snapshot needs and that was not yielded
// before. A tree that cannot be read is yielded, then its error, unless a remote
// promised it; the walk goes on if the caller does.
func (w *Walk) Snapshot(s *records.Snapshot) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		roots := []Object{{ID: s.ID, Kind: oid.Commit}, {ID: s.Rules.Exclude, Kind: oid.Blob}, {ID: s.SkippedIn, Kind: oid.Blob}}
		for _, id := range s.Rules.Ignore {
			roots = append(roots, Object{ID: id, Kind: oid.Blob})
		}
		for _, n := range s.Nested {
			roots = append(roots, Object{ID: n.Exclude, Kind: oid.Blob})
		}
		for _, o := range roots {
			if !w.visit(o, false, yield) {
				return
			}
		}
		if w.promised = nil; w.Promised != nil {
			w.promised = w.Promised(s, w.Load)
			defer func() { w.promised = nil }()
		}
		if w.tree("", s.Tree, false, yield) {
			w.tree("", s.Overlay, true, yield)
		}
	}
}

// Overlay yields what an overlay tree needs, as [Walk.Snapshot] does.
func (w *Walk) Overlay(id oid.ID) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { w.tree("", id, true, yield) }
}

// below yields what one entry of a tree needs, as [Walk.Snapshot] does.
func (w *Walk) below(e tree.Entry, overlay bool) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { w.entry("", e, overlay, yield) }
}

// ErrPart is reported of a snapshot of which something is gone.
var ErrPart = errors.New("git has only a part of it")

// Whole returns an [ErrPart] for the first object that a snapshot needs, beside its
// rules, and that was not visited before and is not there: has says what is. Then nothing
// counts as visited any more: what is missing must be missed again.
func (w *Walk) Whole(ctx context.Context, s *records.Snapshot, has func(oid.ID) bool) (err error) {
	defer func() {
		if err != nil {
			w.seen = nil
		}
	}()
	for o, err := range w.Snapshot(s) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", ErrPart, err)
		case o.Kind != oid.Commit && o.Path != "" && !has(o.ID):
			return fmt.Errorf("%w: %v %v (%s) is missing", ErrPart, o.Kind, o.ID, o.Path)
		}
	}
	return nil
}

// visit yields an object once; false: the caller wants no more.
func (w *Walk) visit(o Object, overlay bool, yield func(Object, error) bool) bool {
	key := reached{o.ID, overlay}
	if o.ID.IsZero() || w.seen[key] {
		return true
	}
	if w.seen == nil {
		w.seen = map[reached]bool{}
	}
	w.seen[key] = true
	return yield(o, nil)
}

// tree yields a tree and what it holds; false: the caller wants no more.
func (w *Walk) tree(at string, id oid.ID, overlay bool, yield func(Object, error) bool) bool {
	if id.IsZero() || w.seen[reached{id, overlay}] {
		return true
	}
	if !w.visit(Object{ID: id, Kind: oid.Tree, Path: at}, overlay, yield) {
		return false
	}
	if err := tree.CheckPath(at); err != nil {
		return yield(Object{ID: id, Kind: oid.Tree, Path: at}, err)
	}
	payload, err := w.Load(id)
	if err != nil && !overlay && w.promised != nil && w.promised(id) {
		w.again(id)
		return true
	}
	if err != nil {
		return yield(Object{ID: id, Kind: oid.Tree, Path: at}, err)
	}
	entries, err := tree.Decode(payload, w.Algorithm)
	if err != nil {
		return yield(Object{ID: id, Kind: oid.Tree, Path: at}, fmt.Errorf("%w: tree %v: %w", records.ErrDamaged, id, err))
	}
	if !overlay {
		w.above = append(w.above, id)
		defer func() { w.above = w.above[:len(w.above)-1] }()
	}
	for _, e := range entries {
		if !w.entry(path.Join(at, e.Name), e, overlay, yield) {
			return false
		}
	}
	return true
}

func (w *Walk) entry(at string, e tree.Entry, overlay bool, yield func(Object, error) bool) bool {
	switch e.Mode.Type() {
	case tree.Dir:
		return w.tree(at, e.ID, overlay, yield)
	case tree.Nested:
		return !overlay || w.tree(at, e.ID, overlay, yield)
	}
	return w.visit(Object{ID: e.ID, Kind: oid.Blob, Path: at}, overlay, yield)
}

// Left is asked about an object that is being visited and is nowhere. It
// reports whether the object need not be there, as Promised says. If so the
// walk visits it once more, with the trees around it: the next snapshot may
// have had it on disk.
func (w *Walk) Left(id oid.ID) bool {
	if w.promised == nil || !w.promised(id) {
		return false
	}
	w.again(id)
	return true
}

func (w *Walk) again(id oid.ID) {
	delete(w.seen, reached{id: id})
	for _, tree := range w.above {
		delete(w.seen, reached{id: tree})
	}
}
