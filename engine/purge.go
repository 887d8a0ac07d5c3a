package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// purgeRounds bounds how often a purge looks for snapshots made meanwhile.
const purgeRounds = 5

// Purge removes paths, directories, and what matches glob patterns, from every
// snapshot of every worktree, from the store and from our ref. A path means
// itself, and a pattern begins with ":(glob)": what is purged cannot be undone.
// The snapshots get new ids;
// the old ones still find them. What git itself may still have is in the
// result. The worktree is left alone: what is on disk is recorded again by the
// next snapshot, unless a setting or an ignore rule leaves it out.
func (e *Engine) Purge(ctx context.Context, paths []string, dry bool) (*Housekeeping, error) {
	itself := func(string) (bool, error) { return true, nil }
	sel, err := plan.Select(paths, itself)
	if err != nil {
		return nil, err
	}
	if sel.Everything() {
		return nil, fmt.Errorf("%w: name what to purge; everything is not a path", ErrRefused)
	}
	out := &Housekeeping{}
	if s, err := e.opened(ctx); err != nil || s == nil && !e.refKeeps(ctx) {
		return out, err
	}
	if !dry {
		unlock, err := e.beginPurge(ctx, out)
		if err != nil {
			return nil, err
		}
		defer unlock.Unlock()
	}
	p := &purging{e: e, sel: sel, dry: dry, removed: map[string]bool{}, blobs: map[oid.ID]bool{}, left: map[Path]string{}}
	for range purgeRounds {
		n, err := p.round(ctx)
		if err != nil {
			return nil, err
		}
		if out.Purged += n; n == 0 || dry {
			break
		}
	}
	for path := range p.removed {
		out.Paths = append(out.Paths, Path(path))
	}
	slices.Sort(out.Paths)
	for _, id := range slices.Sorted(maps.Keys(p.left)) {
		out.Left = append(out.Left, Note{Path: id, Reason: p.left[id]})
	}
	if !dry { // also where nothing is left to cut: an earlier purge may have ended before this
		if err := p.finish(ctx, out); err != nil {
			return nil, err
		}
	}
	e.nameLegacy(out)
	e.remains(ctx, p, out)
	return out, nil
}

// beginPurge makes ready for a purge: nothing is unfinished, and a store that
// was lost has records again of what our ref keeps.
func (e *Engine) beginPurge(ctx context.Context, out *Housekeeping) (held *durable.Held, err error) {
	if out.Recovered, err = e.recoverNow(ctx); err != nil {
		return nil, err
	}
	if _, err := e.needStore(ctx); err != nil {
		return nil, err
	}
	unlock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.adopt(ctx); err != nil {
		return nil, errors.Join(err, unlock.Unlock())
	}
	// Who was brought half-way into git must not come back.
	_ = e.mirror.Bridge(ctx)
	return unlock, nil
}

// unsettled refuses to purge while a bisect or a restore stands open: what is on disk
// is not the owner's then, and the snapshot of what is may be all there is of it.
func unsettled(root Path, birth string) error {
	if !locate.IsAt(string(root), birth) {
		return nil
	}
	return fmt.Errorf("%w: a bisect or an interrupted restore stands open in %s: end it there first (rewind bisect reset, rewind sync)", ErrRefused, root)
}

// A purging is one run of a purge.
type purging struct {
	e       *Engine
	sel     retention.Selection
	dry     bool
	stage   *cas.Stage
	editor  *retention.Editor // of this round
	removed map[string]bool   // paths
	blobs   map[oid.ID]bool   // contents of these paths
	left    map[Path]string   // what could not be purged, and why
}

// round rewrites every snapshot that has any of the paths.
func (p *purging) round(ctx context.Context) (int, error) {
	p.editor = &retention.Editor{Algorithm: p.e.alg, Selection: p.sel, Trees: p.e.objects.Trees(ctx, objects.Reading{Once: true}), Contents: p.blobs}
	p.editor.Put = func(tree []byte) (oid.ID, error) { return p.e.alg.Sum(oid.Tree, tree), nil }
	if !p.dry {
		p.stage = p.e.atHand().Stage()
		defer p.stage.Discard()
		p.editor.Put = func(tree []byte) (oid.ID, error) {
			id, err := p.stage.Put(ctx, oid.Tree, tree, oid.ID{})
			return id, objects.StoreError(err)
		}
	}
	all, err := records.Read(ctx, p.e.view, (*records.View).Snapshots)
	if err != nil {
		return 0, err
	}
	var changed []records.Replacement
	for _, s := range slices.Backward(all) {
		r, err := p.rewrite(ctx, s)
		if err != nil && s.Lost != "" && ctx.Err() == nil {
			p.left[Path(s.ID.String())] = s.Lost
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("snapshot %v: %w", s.ID, err)
		}
		if r != nil {
			changed = append(changed, *r)
		}
	}
	outside, err := p.outside(ctx, changed)
	if err != nil {
		return 0, err
	}
	changed = append(changed, outside...)
	for _, r := range changed {
		for _, path := range r.Paths {
			p.removed[path] = true
		}
	}
	if p.dry || len(changed) == 0 {
		return len(changed), nil
	}
	return len(changed), objects.StoreError(p.stage.Commit(ctx, p.e.changing(func(u *records.Update) error {
		if err := u.Cut(p.removed, p.sel.Match, unsettled); err != nil {
			return err
		}
		return u.Replace(changed)
	})))
}

// rewrite makes the snapshot without the paths, nil if it has none of them.
func (p *purging) rewrite(ctx context.Context, s *Snapshot) (*records.Replacement, error) {
	cut, err := p.editor.Cut(s)
	if err != nil || cut == nil {
		return nil, err
	}
	if p.dry {
		return &records.Replacement{Old: s.ID, Paths: cut.Paths}, nil
	}
	if err := p.e.lookup.Fill(ctx, s); err != nil {
		return nil, err
	}
	n := cut.Apply(s, retention.Purged)
	commit := p.commit(ctx, s)
	commit.Tree, commit.Overlay, commit.Time = n.Tree, n.Overlay, n.Time
	if g := s.Limits; g != nil && !g.Overlay.IsZero() {
		commit.Overlay = g.Overlay // it is gone, and the commit goes on saying that there was one
	}
	if err := n.PackSkipped(putSkipped(ctx, p.stage)); err != nil {
		return nil, err
	}
	n.ID, err = p.stage.Put(ctx, oid.Commit, gitbridge.EncodeSnapshot(commit, p.e.alg), oid.ID{})
	return &records.Replacement{Old: s.ID, New: n.ID, Snapshot: n, Paths: cut.Paths}, objects.StoreError(err)
}

// commit returns what the commit of a snapshot says beside its trees: who it is
// by, and where it came from.
func (p *purging) commit(ctx context.Context, s *Snapshot) gitbridge.Commit {
	if payload, err := p.e.objects.Payload(ctx, oid.Commit, s.ID); err == nil {
		if c, err := gitbridge.DecodeSnapshot(payload, p.e.alg); err == nil {
			return c
		}
	}
	if p.e.repo == nil {
		return gitbridge.Commit{Identity: p.e.identity()}
	}
	return gitbridge.Commit{Identity: p.e.signer(s.ID), From: lookup.Origin(s)}
}
