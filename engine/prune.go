package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// PruneOptions say what may go. The zero value takes the settings, and drops
// nothing if they set no limit. MaxSnapshots, MaxAge, MaxStoreSize and ThinDays are limits,
// Grace is how old a content has to be to go; Session is the conversation at hand; with Unseen
// the limits hold for conversations too whose session file is nowhere to be found; Startup
// gives up when that takes long; Forked lists what forks go by; DryRun drops nothing.
type PruneOptions = retention.Options

// A Housekeeping says what a prune, a purge, an import or a sync did or, on a dry run,
// would do. What is of the other verbs is zero.
type Housekeeping struct {
	Dropped   []*Snapshot    // of a prune: ours, newest first
	Foreign   []ID           // of a prune: snapshots of pi-rewind-hook that it takes out of the ref
	Kept      map[string]int // of a prune: why the others stay → how many
	Unlimited bool           // of a prune: no limit is set, and nothing goes
	Ledgers   int            // of a prune: session files that were read

	Paths  []Path // of a purge: what was removed; of a directory only its own path
	Purged int    // of a purge: snapshots that had any of it
	Shared int    // of a purge: contents that stay because other paths have them too

	Imported []*Snapshot // of an import: new ones, newest first; on a dry run with the checkpoints' own ids

	Left    []Note // snapshots that a purge could not look into or rewrite, by id, or our ref itself; refs that an import found to be no checkpoints, or not whole ones
	Objects int64  // contents that went with what a prune dropped; of git's, those that a sync put right
	Freed   int64  // bytes of the store's file given back to the system
	Bridge  error  // not nil: our ref does not keep what it should yet, or keeps what it should not; the next command tries again

	// Git is what git may still have of what was dropped or purged, and for how long.
	Git struct {
		Objects int    // purged contents, or objects that only dropped snapshots needed, that are in git's object database now
		Bytes   int64  // that the latter take on disk; 0: unknown
		Expire  string // gc.pruneExpire: how long git keeps objects that nothing refers to
		Reflog  bool   // the store ref has a reflog, which refers to the old snapshots
		Tracked []Path // purged paths that HEAD's commit has: then git's own history keeps them
	}

	Recovered  *Restored // what was done before, to finish an interrupted operation; nil: there was none
	Unfinished error     // not nil: an interrupted operation that could not be finished, and is left as it is
}

// Prune drops snapshots beyond the limits and the contents that only they
// needed, and gives the disk space back. What stays whatever the limits say,
// and why, is in docs/decisions/0009-retention.md. A snapshot that anything
// took up while Prune looked around stays. If a ledger cannot be looked at
// nothing is dropped: [ErrRefused].
func (e *Engine) Prune(ctx context.Context, opt *PruneOptions) (*Housekeeping, error) {
	p, out := e.limits(opt), &Housekeeping{Kept: map[string]int{}}
	s, err := e.opened(ctx)
	if err != nil || s == nil {
		return out, err
	}
	if !p.DryRun {
		if out.Recovered, out.Unfinished, err = e.recoverIfPossible(ctx, e.recoverAlone); err != nil {
			return nil, err
		}
	}
	k := e.keeper(p)
	choice, err := k.Choose(ctx, p)
	if err != nil {
		return nil, err
	}
	if !p.DryRun {
		if p.Unseen {
			if err := k.ForgetMissing(ctx); err != nil {
				return nil, err
			}
		}
		if err := k.Drop(ctx, choice); err != nil {
			return nil, err
		}
		out.Bridge = e.mirror.Bridge(ctx)
	}
	out.Dropped, out.Foreign, out.Kept, out.Unlimited, out.Ledgers = choice.Dropped, choice.Foreign, choice.Kept, choice.Unlimited, choice.Ledgers
	if !p.Startup { // then somebody waits, and nobody reads it
		if err := e.held(ctx, out); err != nil {
			return nil, err
		}
	}
	return out, e.sweep(ctx, p, out)
}

// Collect lets git collect what nothing refers to any more (git gc), and returns what
// its objects took on disk before and after. Objects that are younger than the setting
// gc.pruneExpire stay, whoever made them. Refs, reflogs and all else of the repository
// are left as they are. False: there is no git.
func (e *Engine) Collect(ctx context.Context) (before, after int64, done bool, err error) {
	if e.repo == nil {
		return 0, 0, false, nil
	}
	if before, after, err = e.repo.Collect(ctx); err != nil {
		return 0, 0, false, fmt.Errorf("git was not made to collect: %w", err)
	}
	return before, after, true, nil
}

// limits completes what the caller asked for by what the settings say.
func (e *Engine) limits(opt *PruneOptions) *PruneOptions {
	p := PruneOptions{}
	if opt != nil {
		p = *opt
	}
	p.MaxSnapshots, p.MaxAge = cmp.Or(p.MaxSnapshots, e.conf.MaxSnapshots), cmp.Or(p.MaxAge, e.conf.MaxAge)
	p.MaxStoreSize, p.ThinDays = cmp.Or(p.MaxStoreSize, e.conf.MaxStoreSize), cmp.Or(p.ThinDays, e.conf.ThinDays)
	return &p
}

// sweep removes the contents that nothing needs any more.
func (e *Engine) sweep(ctx context.Context, p *PruneOptions, out *Housekeeping) error {
	s := e.atHand()
	gone := map[oid.ID]bool{}
	for _, d := range out.Dropped {
		gone[d.ID] = true
	}
	report, err := s.Sweep(ctx, e.sweeping(ctx, cas.SweepOptions{Grace: p.Grace, Now: e.now(), DryRun: p.DryRun}, gone))
	if err != nil {
		return objects.StoreError(err)
	}
	if p.Startup {
		report.Free = 0 // to write the file anew for that alone is not for somebody who waits to begin
	}
	out.Objects, out.Freed = int64(report.Objects), report.Bytes+report.Free
	if p.DryRun || report.Objects+report.Chunks == 0 && report.Free == 0 {
		return nil
	}
	before, after, err := s.Compact(ctx)
	out.Freed = max(0, before-after) // the new file may need more than the old one had in use
	return objects.StoreError(err)
}

// keeper chooses what a prune drops.
func (e *Engine) keeper(p *PruneOptions) *retention.Keeper {
	return &retention.Keeper{
		Sessions: e.sessions(), Now: e.now, AncestorOnly: e.conf.ScanMode == settings.ScanAncestors, PinLabelled: e.conf.PinLabeled,
		StartupBudget: e.conf.StartupBudget, Others: e.mirror.Others, Weigh: e.weigh, Forked: p.Forked,
	}
}

// weigh returns the function that tells what a snapshot adds to the store's file.
func (e *Engine) weigh(ctx context.Context) (func(*Snapshot) (float64, error), error) {
	stats, err := e.atHand().Stats(ctx)
	if err != nil {
		return nil, objects.StoreError(err)
	}
	// The file is larger than its frames: rows, space left in pages. What is free, or
	// of a snapshot in the making, is not the price of those that are there.
	perByte := min(max(float64(stats.FileBytes-stats.Unused)/float64(max(stats.StoredBytes, 1)), 1), 2)
	r := e.reach(e.objects.Trees(ctx, objects.Reading{Once: true}))
	return func(s *Snapshot) (float64, error) {
		n, err := e.cost(ctx, r, s)
		return float64(n) * perByte, err
	}, nil
}

// cost returns the bytes of the store that a snapshot needs and that were not
// counted before. What cannot be read costs nothing.
func (e *Engine) cost(ctx context.Context, r *retention.Walk, s *Snapshot) (total int64, err error) {
	var ids []oid.ID
	for o := range r.Snapshot(s) {
		ids = append(ids, o.ID)
	}
	err = e.view(ctx, func(v *records.View) error {
		for _, id := range ids {
			n, err := v.Stored(id)
			if errors.Is(err, cas.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			total += n
		}
		return ctx.Err()
	})
	return total, err
}
