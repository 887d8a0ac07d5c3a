package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// PruneOptions say what may go. The zero value takes the settings
// rewind.maxSnapshots and rewind.maxAgeDays, and drops nothing if neither is set.
type PruneOptions struct {
	MaxSnapshots int           // keep at most so many of each worktree; 0: the setting
	MaxAge       time.Duration // drop what is older; 0: the setting
	Grace        time.Duration // contents younger than this stay; 0: 24 hours
	DryRun       bool
}

// A Pruned says what a prune dropped or, on a dry run, would drop.
type Pruned struct {
	Dropped []*Snapshot
	Objects int64 // contents that went with them
	Freed   int64 // bytes of the store's file given back to the system
}

// Prune drops snapshots beyond the limits and the contents that only they
// needed, and gives the disk space back. The newest snapshot of a worktree,
// pinned and labelled snapshots, and whatever undo and redo need stay always.
func (e *Engine) Prune(ctx context.Context, opt *PruneOptions) (*Pruned, error) {
	if opt == nil {
		opt = &PruneOptions{}
	}
	s := e.opened()
	if s == nil {
		return &Pruned{}, nil
	}
	if !opt.DryRun {
		if _, err := e.Recover(ctx); err != nil {
			return nil, err
		}
	}
	out, err := e.drop(ctx, s, opt)
	if err != nil {
		return nil, err
	}
	report, err := s.Sweep(ctx, cas.SweepOptions{Live: e.live(ctx, s, out.Dropped), Grace: opt.Grace, Now: e.now(), DryRun: opt.DryRun})
	if err != nil {
		return nil, storeError(err)
	}
	out.Objects = int64(report.Objects)
	if opt.DryRun {
		out.Freed = report.Bytes
		return out, nil
	}
	before, after, err := s.Compact(ctx)
	out.Freed = before - after
	return out, storeError(err)
}

// drop chooses what goes and removes its records.
func (e *Engine) drop(ctx context.Context, s *cas.Store, opt *PruneOptions) (*Pruned, error) {
	out := &Pruned{}
	choose := func(v *cas.View) error {
		keep, err := e.needed(v)
		if err != nil {
			return err
		}
		out.Dropped, err = e.beyond(v, opt, keep)
		return err
	}
	if opt.DryRun {
		return out, storeError(s.View(ctx, choose))
	}
	return out, storeError(s.Update(ctx, func(u *cas.Update) error {
		if err := choose(&u.View); err != nil {
			return err
		}
		for _, snap := range out.Dropped {
			id := snap.ID.Bytes()
			seq, err := u.Table(tableByID).Value(id)
			if err != nil {
				return err
			}
			if err := u.Table(tableSnapshots).Delete(seq); err != nil {
				return err
			}
			if err := u.Table(tableByID).Delete(id); err != nil {
				return err
			}
		}
		return nil
	}))
}

// needed returns the snapshots that stay whatever the limits say.
func (e *Engine) needed(v *cas.View) (map[oid.ID]bool, error) {
	keep := map[oid.ID]bool{}
	for _, value := range v.Table(tablePins).All() {
		if id, err := oid.FromBytes(value); err == nil {
			keep[id] = true
		}
	}
	worktrees, err := worktrees(v)
	if err != nil {
		return nil, err
	}
	for key, w := range worktrees {
		keep[w.Last] = true
		ops, err := operations(v, key)
		if err != nil {
			return nil, err
		}
		for _, op := range replay(ops).needed() {
			keep[op.From], keep[op.To] = true, true
		}
	}
	return keep, nil
}

// beyond returns the snapshots over the limits that nothing keeps.
func (e *Engine) beyond(v *cas.View, opt *PruneOptions, keep map[oid.ID]bool) ([]*Snapshot, error) {
	most, age := opt.MaxSnapshots, opt.MaxAge
	if most == 0 {
		most = e.conf.maxSnapshots
	}
	if age == 0 {
		age = time.Duration(e.conf.maxAgeDays) * 24 * time.Hour
	}
	var out []*Snapshot
	seen := map[string]int{}
	for s, err := range snapshots(v) {
		if err != nil {
			return nil, err
		}
		seen[s.Where]++
		over := most > 0 && seen[s.Where] > most || age > 0 && e.now().Sub(s.Time) > age
		if over && !keep[s.ID] && s.Label() == "" {
			out = append(out, s)
		}
	}
	return out, nil
}

// live marks every object that a snapshot, an operation's journal or a rule
// needs, except for snapshots about to be dropped.
func (e *Engine) live(ctx context.Context, s *cas.Store, dropped []*Snapshot) func(func(oid.ID)) error {
	gone := map[oid.ID]bool{}
	for _, d := range dropped {
		gone[d.ID] = true
	}
	return func(mark func(oid.ID)) error {
		var keep []*Snapshot
		err := s.View(ctx, func(v *cas.View) error {
			for _, value := range v.Table(tableOperations).All() {
				var op Operation
				if err := json.Unmarshal(value, &op); err != nil {
					return fmt.Errorf("%w: operation record: %w", ErrDamaged, err)
				}
				mark(op.Plan)
			}
			for snap, err := range snapshots(v) {
				if err != nil {
					return err
				}
				if !gone[snap.ID] {
					keep = append(keep, snap)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		r := newReach(e, e.loader(ctx, nil))
		for _, snap := range keep {
			for o, err := range r.snapshot(snap) {
				if err != nil {
					return err
				}
				mark(o.id)
			}
		}
		return nil
	}
}
