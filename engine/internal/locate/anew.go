package locate

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A writer writes snapshots anew, oldest first. It is for one goroutine.
type writer struct {
	from     *objects.Objects // what the old store has
	stage    *cas.Stage       // of the new one
	to       oid.Algorithm
	identity string // who the new commits are by

	load  tree.Loader
	blobs map[oid.ID]oid.ID     // old → new
	trees map[tree.State]oid.ID // directory → overlay
	paths map[string]oid.ID     // path → its content in the newest snapshot so far, which the next may differ little from
}

// snapshot writes a snapshot with all that it needs into the stage, and returns its
// new record. Where is the worktree's key in the new store.
func (w *writer) snapshot(ctx context.Context, s *records.Snapshot, where string) (*records.Snapshot, error) {
	if w.blobs == nil {
		w.blobs, w.trees, w.paths = map[oid.ID]oid.ID{}, map[tree.State]oid.ID{}, map[string]oid.ID{}
		w.load = w.from.Trees(ctx, objects.Reading{Once: true})
	}
	n := *s
	n.Where, n.Held = where, records.HeldByStore
	var err error
	if n.Tree, err = w.put(ctx, oid.Tree, nil); err != nil {
		return nil, err
	}
	if n.Overlay, err = w.overlay(ctx, s.State(), ""); err != nil {
		return nil, fmt.Errorf("snapshot %v: %w", s.ID, err)
	}
	if err := w.rules(ctx, s, &n); err != nil {
		return nil, fmt.Errorf("snapshot %v: %w", s.ID, err)
	}
	commit := gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: n.Tree, Overlay: n.Overlay, Time: n.Time, Identity: w.identity}, w.to)
	n.ID, err = w.put(ctx, oid.Commit, commit)
	return &n, err
}

// rules writes anew what a record names beside its trees.
func (w *writer) rules(ctx context.Context, s, n *records.Snapshot) (err error) {
	blob := func(id oid.ID) oid.ID {
		if err == nil && !id.IsZero() {
			id, err = w.blob(ctx, id, "")
		}
		return id
	}
	n.Rules.Ignore, n.Nested = nil, nil
	for _, id := range s.Rules.Ignore {
		n.Rules.Ignore = append(n.Rules.Ignore, blob(id))
	}
	n.Rules.Exclude, n.SkippedIn = blob(s.Rules.Exclude), blob(s.SkippedIn)
	for _, at := range s.Nested {
		n.Nested = append(n.Nested, records.NestedAt{Path: at.Path, Exclude: blob(at.Exclude)})
	}
	return err
}

// overlay writes what a directory holds as an overlay of its own, zero if that is
// nothing and the directory is the worktree itself.
func (w *writer) overlay(ctx context.Context, dir tree.State, path string) (oid.ID, error) {
	if id, ok := w.trees[dir]; ok {
		return id, nil
	}
	children, err := tree.Children(dir, w.from.Algorithm, w.load)
	if err != nil {
		return oid.ID{}, objects.TreeError(err)
	}
	var entries []tree.Entry
	for _, c := range children {
		if err := ctx.Err(); err != nil {
			return oid.ID{}, err
		}
		e, at := tree.Entry{Name: c.Name, Mode: c.Node.Mode}, c.Name
		if path != "" {
			at = path + "/" + c.Name
		}
		switch c.Node.Mode.Type() {
		case tree.Dir, tree.Nested:
			e.ID, err = w.overlay(ctx, c.Node.State(), at)
		case tree.File, tree.Symlink:
			e.ID, err = w.blob(ctx, c.Node.ID, at)
		default: // what was not on disk
			continue
		}
		if err != nil {
			return oid.ID{}, err
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 && path == "" {
		return oid.ID{}, nil
	}
	tree.Sort(entries)
	id, err := w.put(ctx, oid.Tree, tree.Encode(entries, w.to))
	if err == nil {
		w.trees[dir] = id
	}
	return id, err
}

// blob writes a content anew and returns its new id. Path is where it lies; "" is
// nowhere.
func (w *writer) blob(ctx context.Context, old oid.ID, path string) (oid.ID, error) {
	id, ok := w.blobs[old]
	if !ok {
		o, err := w.from.Source(ctx, nil)(old)
		if err != nil {
			return oid.ID{}, err
		}
		if o.Kind != oid.Blob {
			return oid.ID{}, errors.Join(fmt.Errorf("%w: object %v is no content", records.ErrDamaged, old), o.Data.Close())
		}
		id, err = w.stage.PutReader(ctx, oid.Blob, o.Data, o.Size, w.paths[path])
		if err = errors.Join(err, o.Data.Close()); err != nil {
			return oid.ID{}, objects.StoreError(err)
		}
		w.blobs[old] = id
	}
	if path != "" {
		w.paths[path] = id
	}
	return id, nil
}

// now returns the id that a content has now, and the old one of a content that was not
// written.
func (w *writer) now(old oid.ID) oid.ID {
	if id, ok := w.blobs[old]; ok {
		return id
	}
	return old
}

func (w *writer) put(ctx context.Context, kind oid.Kind, payload []byte) (oid.ID, error) {
	id, err := w.stage.Put(ctx, kind, payload, oid.ID{})
	return id, objects.StoreError(err)
}
