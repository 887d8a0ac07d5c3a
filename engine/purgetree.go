package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// tree makes a tree without the paths. A git tree that has nothing left goes
// from the tree above it; an overlay tree stays, as an empty directory.
func (p *purge) tree(ctx context.Context, v visited) (purgedTree, error) {
	if v.id.IsZero() || v.id == p.e.emptyTree() || !p.sel.Below(v.at) {
		return purgedTree{id: v.id}, nil
	}
	if known, ok := p.memo[v]; ok {
		return known, nil
	}
	payload, err := p.e.payload(ctx, oid.Tree, v.id)
	if err != nil {
		return purgedTree{}, err
	}
	entries, err := tree.Decode(payload, p.e.alg)
	if err != nil {
		return purgedTree{}, fmt.Errorf("%w: tree %v: %w", ErrDamaged, v.id, err)
	}
	out := purgedTree{id: v.id}
	var left []tree.Entry
	for _, entry := range entries {
		keep, paths, err := p.entry(ctx, v, &entry)
		if err != nil {
			return purgedTree{}, err
		}
		if out.paths = append(out.paths, paths...); keep {
			left = append(left, entry)
		}
	}
	if len(out.paths) > 0 {
		out.id, err = p.put(ctx, tree.Encode(left, p.e.alg))
	}
	p.memo[v] = out
	return out, err
}

// entry purges one entry: it may get another id, or not be kept.
func (p *purge) entry(ctx context.Context, v visited, entry *tree.Entry) (keep bool, paths []string, err error) {
	at := join(v.at, entry.Name)
	if p.sel.Match(at) {
		return false, []string{at}, p.collect(ctx, *entry, v.overlay)
	}
	if !entry.Mode.IsDir() || entry.Mode.Type() == tree.Nested && !v.overlay {
		return true, nil, nil
	}
	below, err := p.tree(ctx, visited{id: entry.ID, at: at, overlay: v.overlay})
	if err != nil || len(below.paths) == 0 {
		return true, nil, err
	}
	entry.ID = below.id
	return v.overlay || below.id != p.e.emptyTree(), below.paths, nil
}

// collect notes the contents of what is removed.
func (p *purge) collect(ctx context.Context, entry tree.Entry, overlay bool) error {
	var failed error
	for o, err := range p.e.reach(p.e.trees(ctx)).Entry(entry, overlay) {
		if o.Kind == oid.Blob && !o.ID.IsZero() {
			p.blobs[o.ID] = true
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

func (p *purge) put(ctx context.Context, payload []byte) (oid.ID, error) {
	if p.dry {
		return p.e.alg.Sum(oid.Tree, payload), nil
	}
	id, err := p.stage.Put(ctx, oid.Tree, payload, oid.ID{})
	return id, storeError(err)
}
