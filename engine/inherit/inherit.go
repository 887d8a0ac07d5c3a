// Package inherit writes snapshots anew under another hash: those that a directory
// had without git, for the store of the repository that was made in it.
//
// All that such a snapshot has goes into the overlay, over an empty git tree: what
// was recorded without git was never meant for git's objects, and does not get there
// now. It says the same of every path as before.
package inherit

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/git/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Writer writes snapshots anew, oldest first. It is for one goroutine.
type Writer struct {
	From     *objects.Objects // what the old store has
	Stage    *cas.Stage       // of the new one
	To       oid.Algorithm
	Identity string // who the new commits are by

	load  tree.Loader
	blobs map[oid.ID]oid.ID     // old → new
	trees map[tree.State]oid.ID // directory → overlay
	paths map[string]oid.ID     // path → its content in the newest snapshot so far, which the next may differ little from
}

// Snapshot writes a snapshot with all that it needs into the stage, and returns its
// new record. Where is the worktree's key in the new store.
func (w *Writer) Snapshot(ctx context.Context, s *records.Snapshot, where string) (*records.Snapshot, error) {
	if w.blobs == nil {
		w.blobs, w.trees, w.paths = map[oid.ID]oid.ID{}, map[tree.State]oid.ID{}, map[string]oid.ID{}
		w.load = w.From.Trees(ctx, objects.Reading{Once: true})
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
	commit := gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: n.Tree, Overlay: n.Overlay, Time: n.Time, Identity: w.Identity}, w.To)
	n.ID, err = w.put(ctx, oid.Commit, commit)
	return &n, err
}

// rules writes anew what a record names beside its trees.
func (w *Writer) rules(ctx context.Context, s, n *records.Snapshot) (err error) {
	blob := func(id oid.ID) oid.ID {
		if err == nil && !id.IsZero() {
			id, err = w.Blob(ctx, id, "")
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
func (w *Writer) overlay(ctx context.Context, dir tree.State, path string) (oid.ID, error) {
	if id, ok := w.trees[dir]; ok {
		return id, nil
	}
	children, err := tree.Children(dir, w.From.Algorithm, w.load)
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
			e.ID, err = w.Blob(ctx, c.Node.ID, at)
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
	id, err := w.put(ctx, oid.Tree, tree.Encode(entries, w.To))
	if err == nil {
		w.trees[dir] = id
	}
	return id, err
}

// Blob writes a content anew and returns its new id. Path is where it lies; "" is
// nowhere.
func (w *Writer) Blob(ctx context.Context, old oid.ID, path string) (oid.ID, error) {
	id, ok := w.blobs[old]
	if !ok {
		o, err := w.From.Source(ctx, nil)(old)
		if err != nil {
			return oid.ID{}, err
		}
		if o.Kind != oid.Blob {
			return oid.ID{}, errors.Join(fmt.Errorf("%w: object %v is no content", records.ErrDamaged, old), o.Data.Close())
		}
		id, err = w.Stage.PutReader(ctx, oid.Blob, o.Data, o.Size, w.paths[path])
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

// Now returns the id that a content has now, and the old one of a content that was not
// written.
func (w *Writer) Now(old oid.ID) oid.ID {
	if id, ok := w.blobs[old]; ok {
		return id
	}
	return old
}

func (w *Writer) put(ctx context.Context, kind oid.Kind, payload []byte) (oid.ID, error) {
	id, err := w.Stage.Put(ctx, kind, payload, oid.ID{})
	return id, objects.StoreError(err)
}
