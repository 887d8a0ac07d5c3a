package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/foreign"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Purged says what a purge removed or, on a dry run, would remove.
type Purged struct {
	Paths     []Path // what was removed; of a directory only its own path
	Snapshots int    // that had any of it
	Freed     int64  // bytes of the store's file given back to the system
	Shared    int    // contents that stay because other paths have them too
	Git       Remains
	Bridge    error // not nil: the ref still keeps the old snapshots; the next command tries again
}

// noteOfPurge is why a snapshot does not have a path that was purged, so that
// no restore deletes it from the worktree.
const noteOfPurge = "its content was purged"

// purgeRounds bounds how often a purge looks for snapshots made meanwhile.
const purgeRounds = 5

// Purge removes paths, directories, and what matches glob patterns, from every
// snapshot of every worktree, from the store and from our ref. A path means
// itself, and a pattern begins with ":(glob)": what is purged cannot be undone.
// The snapshots get new ids;
// the old ones still find them. What git itself may still have is in the
// result. The worktree is left alone: what is on disk is recorded again by the
// next snapshot, unless a setting or an ignore rule leaves it out.
func (e *Engine) Purge(ctx context.Context, paths []string, dry bool) (*Purged, error) {
	itself := func(string) (bool, error) { return true, nil }
	sel, err := newSelection(&RestoreOptions{Paths: paths}, itself)
	if err != nil {
		return nil, err
	}
	if sel.everything() || slices.ContainsFunc(sel.items, func(i selected) bool { return i.text == "." }) {
		return nil, fmt.Errorf("%w: name what to purge; everything is not a path", ErrRefused)
	}
	out := &Purged{}
	if e.opened() == nil {
		return out, nil
	}
	if !dry {
		if _, err := e.Recover(ctx); err != nil {
			return nil, err
		}
		unlock, err := e.lockOperations(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock.Unlock()
		// Who was brought half-way into git must not come back.
		_ = e.bridge(ctx)
	}
	p := &purge{e: e, sel: sel, dry: dry, removed: map[string]bool{}, blobs: map[oid.ID]bool{}}
	for range purgeRounds {
		n, err := p.round(ctx)
		if err != nil {
			return nil, err
		}
		if out.Snapshots += n; n == 0 || dry {
			break
		}
	}
	for path := range p.removed {
		out.Paths = append(out.Paths, Path(path))
	}
	slices.Sort(out.Paths)
	if !dry && out.Snapshots > 0 {
		if err := p.finish(ctx, out); err != nil {
			return nil, err
		}
	}
	out.Git = e.remains(ctx, p)
	return out, nil
}

// A purge is one run.
type purge struct {
	e       *Engine
	sel     *selection
	dry     bool
	stage   *cas.Stage
	memo    map[visited]purgedTree
	removed map[string]bool // paths
	blobs   map[oid.ID]bool // contents of these paths
}

// visited is a tree at a place: what is purged depends on both.
type visited struct {
	id      oid.ID
	at      string
	overlay bool
}

// purgedTree is what a tree becomes, and what went of it.
type purgedTree struct {
	id    oid.ID
	paths []string
}

// A replaced is a snapshot on its way from one id to another.
type replaced struct {
	old, new oid.ID
	snap     *Snapshot // the new one
	foreign  bool      // the old one had no record
}

// round rewrites every snapshot that has any of the paths.
func (p *purge) round(ctx context.Context) (int, error) {
	p.stage, p.memo = p.e.opened().Stage(), map[visited]purgedTree{}
	defer p.stage.Discard()
	all, err := p.e.stored(ctx)
	if err != nil {
		return 0, err
	}
	var changed []replaced
	for _, s := range slices.Backward(all) {
		r, err := p.rewrite(ctx, s)
		if err != nil {
			return 0, fmt.Errorf("snapshot %v: %w", s.ID, err)
		}
		if r != nil {
			changed = append(changed, *r)
		}
	}
	foreign, err := p.foreign(ctx)
	if err != nil {
		return 0, err
	}
	changed = append(changed, foreign...)
	if p.dry || len(changed) == 0 {
		return len(changed), nil
	}
	return len(changed), storeError(p.stage.Commit(ctx, func(u *cas.Update) error { return p.e.replace(u, changed) }))
}

// rewrite makes the snapshot without the paths, nil if it has none of them.
func (p *purge) rewrite(ctx context.Context, s *Snapshot) (*replaced, error) {
	git, err := p.tree(ctx, visited{id: s.Tree})
	if err != nil {
		return nil, err
	}
	overlay, err := p.tree(ctx, visited{id: s.Overlay, overlay: true})
	if err != nil {
		return nil, err
	}
	paths := append(slices.Clone(git.paths), overlay.paths...)
	if len(paths) == 0 {
		return nil, nil
	}
	if err := p.e.fill(ctx, s); err != nil {
		return nil, err
	}
	n := *s
	n.Tree, n.Overlay = git.id, overlay.id
	if n.Overlay == p.e.emptyTree() {
		n.Overlay = oid.ID{}
	}
	n.Skipped = slices.Clone(s.Skipped)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		p.removed[path] = true
		n.Skipped = append(n.Skipped, Note{Path: Path(path), Reason: noteOfPurge})
	}
	commit := p.commit(ctx, s)
	commit.Tree, commit.Overlay, commit.Time = n.Tree, n.Overlay, n.Time
	if p.dry {
		return &replaced{old: s.ID}, nil
	}
	if err := n.packSkipped(putSkipped(ctx, p.stage)); err != nil {
		return nil, err
	}
	n.ID, err = p.stage.Put(ctx, oid.Commit, gitbridge.EncodeSnapshot(commit, p.e.alg), oid.ID{})
	return &replaced{old: s.ID, new: n.ID, snap: &n}, storeError(err)
}

// commit returns what the commit of a snapshot says beside its trees: who it is
// by, and where it came from.
func (p *purge) commit(ctx context.Context, s *Snapshot) gitbridge.Commit {
	if payload, err := p.e.payload(ctx, oid.Commit, s.ID); err == nil {
		if c, err := gitbridge.DecodeSnapshot(payload, p.e.alg); err == nil {
			return c
		}
	}
	if p.e.repo == nil {
		return gitbridge.Commit{Identity: p.e.identity()}
	}
	return gitbridge.Commit{Identity: p.e.signer(s.ID), From: s.from()}
}

// foreign rewrites the snapshots that only the ref has: they become ours.
func (p *purge) foreign(ctx context.Context) (changed []replaced, err error) {
	if p.e.repo == nil {
		return nil, nil
	}
	gone := map[oid.ID]bool{}
	err = p.e.view(ctx, func(v *cas.View) error {
		for key := range v.Table(tableDropped).All() {
			if id, err := oid.FromBytes(key); err == nil {
				gone[id] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rules, umask := p.e.readOutside().record(p.e.alg), chooseUmask(p.e.root)
	for s, err := range p.e.repo.Snapshots(ctx) {
		if err != nil {
			return nil, fmt.Errorf("the ref cannot be purged: %w", err)
		}
		if s.Native || s.Err != nil || gone[s.ID] {
			continue
		}
		r, err := p.rewrite(ctx, &Snapshot{
			ID: s.ID, Tree: s.Tree, Umask: umask, Time: s.Time, Rules: rules,
			Points: []Point{{Time: s.Time}},
			Source: &Source{Kind: string(foreign.Hook), Ref: gitbridge.StoreRef, Commit: s.ID},
			Limits: &Limits{GitOnly: true, FreshIndex: true},
		})
		if err != nil {
			return nil, fmt.Errorf("snapshot %v: %w", s.ID, err)
		}
		if r != nil {
			r.foreign = true
			changed = append(changed, *r)
		}
	}
	return changed, nil
}

// tree makes a tree without the paths. A git tree that has nothing left goes
// from the tree above it; an overlay tree stays, as an empty directory.
func (p *purge) tree(ctx context.Context, v visited) (purgedTree, error) {
	if v.id.IsZero() || v.id == p.e.emptyTree() || !p.sel.below(v.at) {
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
	if p.sel.match(at) {
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
	r := newReach(p.e, p.e.trees(ctx))
	var failed error
	r.entry("", entry, overlay, func(o object, err error) bool {
		if o.kind == oid.Blob && !o.id.IsZero() {
			p.blobs[o.id] = true
		}
		failed = errors.Join(failed, err)
		return true
	})
	return failed
}

func (p *purge) put(ctx context.Context, payload []byte) (oid.ID, error) {
	if p.dry {
		return p.e.alg.Sum(oid.Tree, payload), nil
	}
	id, err := p.stage.Put(ctx, oid.Tree, payload, oid.ID{})
	return id, storeError(err)
}
