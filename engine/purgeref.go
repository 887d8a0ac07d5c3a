package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/capture"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// What a purge does with snapshots that our ref keeps and the store has no
// record of: another program's, and ours whose record was lost or that came
// from elsewhere, as by git fetch.

// refKeeps reports whether there is anything in our ref, be it broken.
func (e *Engine) refKeeps(ctx context.Context) bool {
	if e.repo != nil {
		for range e.repo.Snapshots(ctx) {
			return true
		}
	}
	return false
}

// outside rewrites what only the ref has: it gets a record. What cannot be
// rewritten is left, by name. Changed are the snapshots of the store that this
// round rewrites.
func (p *purging) outside(ctx context.Context, changed []records.Replacement) (more []records.Replacement, err error) {
	if p.e.repo == nil {
		return nil, nil
	}
	x, err := p.lookOutside(ctx, changed)
	if err != nil {
		return nil, err
	}
	for s, err := range p.e.repo.Snapshots(ctx) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			p.left[Path(gitbridge.StoreRef)] = strings.TrimPrefix(err.Error(), gitbridge.StoreRef+": ")
			break
		}
		if x.done[s.ID] {
			continue
		}
		x.done[s.ID] = true
		r, err := p.rewriteOutside(ctx, x, s)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.left[Path(s.ID.String())] = err.Error()
			continue
		}
		if r != nil {
			more = append(more, *r)
		}
	}
	if len(more) > 0 && !p.dry { // their records name the rules of today
		err = capture.KeepRules(ctx, p.stage, p.e.rules().Read())
	}
	return more, err
}

// unrecorded is what there is to know to rewrite what has no record.
type unrecorded struct {
	*lookup.Outside
	done  map[oid.ID]bool   // has a record, or is dropped from the ref already
	known map[oid.ID]oid.ID // what a snapshot became that the store knows by another id
	reach *retention.Walk
}

func (p *purging) lookOutside(ctx context.Context, changed []records.Replacement) (x *unrecorded, err error) {
	x = &unrecorded{done: map[oid.ID]bool{}, reach: p.e.reach(p.e.objects.Trees(ctx, objects.Reading{Once: true}))}
	if x.Outside, err = p.e.outside(ctx); err != nil {
		return nil, err
	}
	err = p.e.view(ctx, func(v *records.View) error {
		known, err := v.Aliases()
		for _, id := range known {
			x.done[id] = true
		}
		d, other := v.Debt(false)
		maps.Copy(x.done, d.Dropped)
		x.known = known
		return errors.Join(err, other)
	})
	for _, r := range changed {
		for id, now := range x.known {
			if now == r.Old {
				x.known[id] = r.New
			}
		}
	}
	return x, err
}

// rewriteOutside makes a snapshot without the paths, nil if it has none of
// them. One that the store knows already, and that came back into the ref, only
// goes from there.
func (p *purging) rewriteOutside(ctx context.Context, x *unrecorded, s gitbridge.StoreSnapshot) (*records.Replacement, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	snap := x.Kept(ctx, s)
	r, err := p.rewrite(ctx, snap)
	if err != nil || r == nil {
		return nil, err
	}
	r.Outside = true
	if now := x.known[s.ID]; !now.IsZero() {
		r.New, r.Snapshot = now, nil
		return r, nil
	}
	if err := x.reach.Whole(ctx, snap, p.e.there(ctx)); err != nil {
		return nil, fmt.Errorf("it cannot be rewritten: %w", err)
	}
	return r, nil
}

// remains looks at what git still has of a purge.
func (e *Engine) remains(ctx context.Context, p *purging, out *Housekeeping) {
	if e.repo == nil {
		return
	}
	e.repo.Refresh()
	for id := range p.blobs {
		if e.repo.Has(id) {
			out.Git.Objects++
		}
	}
	e.sayHow(out)
	head, err := e.repo.Head()
	if err != nil || head.Tree.IsZero() {
		return
	}
	has := tree.Finder{State: tree.State{Tree: head.Tree}, Algorithm: e.alg, Load: e.objects.Trees(ctx, objects.Reading{Once: true})}
	for _, path := range slices.Sorted(maps.Keys(p.removed)) {
		if n, _, err := has.Lookup(path); err == nil && n.Git.Name != "" {
			out.Git.Tracked = append(out.Git.Tracked, Path(path))
		}
	}
}

// sayHow says what git goes by when it deletes objects.
func (e *Engine) sayHow(out *Housekeeping) {
	if out.Git.Expire, _ = e.git.String("gc.pruneexpire"); out.Git.Expire == "" {
		out.Git.Expire = "2.weeks.ago"
	}
	log := filepath.Join(e.repo.Layout().CommonDir, "logs", filepath.FromSlash(gitbridge.StoreRef))
	if _, err := os.Stat(log); err == nil {
		out.Git.Reflog = true
	}
}

// finish makes the purge physical: the ref lets go of the old snapshots, and
// the store's file is written anew without the contents.
func (p *purging) finish(ctx context.Context, out *Housekeeping) error {
	e := p.e
	out.Bridge = e.mirror.Bridge(ctx)
	s := e.atHand()
	// No grace: these contents are to go now. A snapshot that is being made
	// meanwhile and relied on one of them notices, and begins again.
	_, err := s.Sweep(ctx, e.sweeping(ctx, cas.SweepOptions{Grace: -1, Now: e.now()}, nil))
	if err != nil {
		return objects.StoreError(err)
	}
	before, after, err := s.Compact(ctx)
	if err != nil {
		return objects.StoreError(err)
	}
	out.Freed = max(0, before-after) // the new file may need more than the old one had in use
	return e.view(ctx, func(v *records.View) error {
		for id := range p.blobs {
			if v.Has(id) {
				out.Shared++
			}
		}
		return nil
	})
}
