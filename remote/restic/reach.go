package restic

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Reach is all that some trees need, as far as it can be read.
type Reach struct {
	mu     sync.Mutex
	blobs  [2]map[ID]bool
	broken map[ID]error // trees that lack something of their own
	below  map[ID][]ID  // trees that a tree names
}

// Reach follows trees to all that they need. What is lacking is in the result; the error says that it could not be
// looked for. Told is called with the trees that were read; it may be nil.
func (r *Repo) Reach(ctx context.Context, roots []ID, told func(done, total int)) (*Reach, error) {
	out := &Reach{blobs: [2]map[ID]bool{{}, {}}, broken: map[ID]error{}, below: map[ID][]ID{}}
	next := out.fresh(roots)
	for done := 0; len(next) > 0; {
		done += len(next)
		if told != nil {
			told(done-len(next), done)
		}
		var below []ID
		err := r.eachBlob(ctx, Tree, next, func(id ID, b Blob, err error) error {
			var nodes []Node
			if err == nil {
				nodes, err = parseTree(id, b.Plain)
			}
			out.mu.Lock()
			defer out.mu.Unlock()
			if err == nil {
				err = out.take(r, id, nodes)
				below = append(below, out.below[id]...)
			}
			if err != nil {
				out.broken[id] = err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		next = out.fresh(below)
	}
	return out, nil
}

// fresh notes trees, and returns those that were not met before.
func (a *Reach) fresh(ids []ID) (fresh []ID) {
	for _, id := range ids {
		if !a.blobs[Tree][id] {
			a.blobs[Tree][id] = true
			fresh = append(fresh, id)
		}
	}
	return fresh
}

// take notes what a tree names; the error says what of it is lacking.
func (a *Reach) take(r *Repo, id ID, nodes []Node) (err error) {
	for _, n := range nodes {
		for _, c := range n.Content {
			if a.blobs[Data][c] = true; !r.Has(Data, c) {
				err = errors.Join(err, fmt.Errorf("%w: tree %v: blob %v of %q is missing", ErrTampered, id, c, n.Name))
			}
		}
		if n.Type == "dir" {
			a.below[id] = append(a.below[id], n.Subtree)
		}
	}
	return err
}

// Needs reports whether a blob was met.
func (a *Reach) Needs(k Kind, id ID) bool { return a.blobs[k][id] }

// Broken returns all that is lacking.
func (a *Reach) Broken() (all []error) {
	for _, err := range a.broken {
		all = append(all, err)
	}
	return all
}

// Whole reports whether a tree that was followed lacks nothing.
func (a *Reach) Whole(root ID) bool {
	if len(a.broken) == 0 {
		return true
	}
	return a.whole(root, map[ID]bool{})
}

func (a *Reach) whole(id ID, seen map[ID]bool) bool {
	if seen[id] {
		return true
	}
	seen[id] = true
	if a.broken[id] != nil {
		return false
	}
	for _, b := range a.below[id] {
		if !a.whole(b, seen) {
			return false
		}
	}
	return true
}
