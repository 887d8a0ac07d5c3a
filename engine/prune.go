package engine

import (
	"context"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// PruneOptions say what may go. The zero value takes the settings, and drops
// nothing if they set no limit.
type PruneOptions struct {
	MaxSnapshots int           // keep at most so many of each worktree, beside those that are pinned; 0: the setting
	MaxAge       time.Duration // drop what nobody referred to for so long; 0: the setting
	MaxStoreSize int64         // bytes; drop the oldest until the store is no larger; 0: the setting
	ThinDays     int           // of the days before today keep one an hour, of those before so many days one a day; 0: the setting
	Grace        time.Duration // contents younger than this stay; 0: 24 hours
	Session      string        // the conversation at hand, for the scan mode ancestor-only
	Unseen       bool          // limits also apply to snapshots of sessions whose ledger is nowhere to be found; directories that are missing are forgotten
	Startup      bool          // give up, dropping nothing, when rewind.startupBudgetMs is over
	DryRun       bool
}

// A Pruned says what a prune dropped or, on a dry run, would drop.
type Pruned struct {
	Dropped []*Snapshot    // ours, newest first
	Foreign []oid.ID       // snapshots of pi-rewind-hook that the ref kept
	Kept    map[string]int // why the others stay → how many
	Ledgers int            // session files that were read
	Objects int64          // contents that went with them
	Freed   int64          // bytes of the store's file given back to the system
	Bridge  error          // not nil: the ref still keeps what was dropped; the next command tries again

	Recovered  *Restored // what was done before, to finish an interrupted operation; nil: there was none
	Unfinished error     // not nil: an interrupted operation that could not be finished, and is left as it is
}

// Prune drops snapshots beyond the limits and the contents that only they
// needed, and gives the disk space back. What stays whatever the limits say,
// and why, is in docs/decisions/0009-retention.md. A snapshot that anything
// took up while Prune looked around stays. If a ledger cannot be looked at
// nothing is dropped: [ErrUnseen].
func (e *Engine) Prune(ctx context.Context, opt *PruneOptions) (*Pruned, error) {
	p := e.limits(opt)
	s := e.opened()
	if s == nil {
		return &Pruned{Kept: map[string]int{}}, nil
	}
	var recovered *Restored
	var left, err error
	if !p.DryRun {
		if recovered, left, err = e.recoverIfPossible(ctx); err != nil {
			return nil, err
		}
	}
	out, err := e.choose(ctx, p)
	if err != nil {
		return nil, err
	}
	out.Recovered, out.Unfinished = recovered, left
	if !p.DryRun {
		if p.Unseen {
			if err := e.forgetPlaces(ctx); err != nil {
				return nil, err
			}
		}
		if err := e.drop(ctx, out); err != nil {
			return nil, err
		}
		out.Bridge = e.bridge(ctx)
	}
	return out, e.sweep(ctx, p, out)
}

// limits completes what the caller asked for by what the settings say.
func (e *Engine) limits(opt *PruneOptions) *PruneOptions {
	p := PruneOptions{}
	if opt != nil {
		p = *opt
	}
	if p.MaxSnapshots == 0 {
		p.MaxSnapshots = e.conf.MaxSnapshots
	}
	if p.MaxAge == 0 {
		p.MaxAge = e.conf.MaxAge
	}
	if p.MaxStoreSize == 0 {
		p.MaxStoreSize = e.conf.MaxStoreSize
	}
	if p.ThinDays == 0 {
		p.ThinDays = e.conf.ThinDays
	}
	return &p
}

// dated says of snapshots, which come in the order of their records, newest
// first, when something last referred to them. A clock that was wrong for a while
// must not turn that order round: what it said of times to come counts for
// nothing, and no snapshot is older than those before it. One that was imported
// has the time of its checkpoint, whenever that was.
func dated(all []*candidate, refs *references, now time.Time) {
	next := now
	times := make([]time.Time, len(all))
	for i, c := range all {
		if times[i] = c.snap.Time; times[i].After(now) {
			times[i] = next
		}
		if !c.snap.Foreign() {
			next = times[i]
		}
	}
	var before time.Time
	for i := len(all) - 1; i >= 0; i-- {
		c := all[i]
		if c.at = times[i]; !c.snap.Foreign() {
			if before.After(c.at) {
				c.at = before
			}
			before = c.at
		}
		for _, p := range c.snap.Points {
			c.refer(p.Time, now)
		}
		c.refer(refs.live[c.snap.ID].Time, now)
	}
}

// refer takes note of a reference to a candidate.
func (c *candidate) refer(at, now time.Time) {
	if at.After(c.at) && !at.After(now) {
		c.at = at
	}
}

// drop removes the records of what was chosen, unless something took it up
// meanwhile, and notes that the ref is to let go of it too.
func (e *Engine) drop(ctx context.Context, out *Pruned) error {
	if len(out.Dropped)+len(out.Foreign) == 0 {
		return nil
	}
	chosen := out.Dropped
	return e.update(ctx, func(u *records.Update) error {
		needed, err := stays(&u.View)
		if err != nil {
			return err
		}
		out.Dropped = nil
		for _, snap := range chosen {
			now, err := u.Find(snap.ID)
			if err != nil {
				return err
			}
			if now == nil || now.ID != snap.ID || needed[snap.ID] != "" || len(now.Points) != len(snap.Points) {
				continue
			}
			if err := u.Forget(snap.ID); err != nil {
				return err
			}
			out.Dropped = append(out.Dropped, snap)
		}
		out.Foreign = slices.DeleteFunc(out.Foreign, func(id oid.ID) bool { return needed[id] != "" })
		return u.LetGo(out.Foreign...)
	})
}

// sweep removes the contents that nothing needs any more.
func (e *Engine) sweep(ctx context.Context, p *PruneOptions, out *Pruned) error {
	s := e.opened()
	gone := map[oid.ID]bool{}
	for _, d := range out.Dropped {
		gone[d.ID] = true
	}
	report, err := s.Sweep(ctx, e.sweeping(ctx, cas.SweepOptions{Grace: p.Grace, Now: e.now(), DryRun: p.DryRun}, gone))
	if err != nil {
		return storeError(err)
	}
	out.Objects, out.Freed = int64(report.Objects), report.Bytes
	if p.DryRun || report.Objects+report.Chunks == 0 {
		return nil
	}
	before, after, err := s.Compact(ctx)
	out.Freed = before - after
	return storeError(err)
}
