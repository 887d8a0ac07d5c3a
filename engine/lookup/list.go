package lookup

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/records"
)

// Options choose snapshots. The zero value is all of this worktree.
type Options struct {
	All       bool   // of every worktree that shares the store, and the checkpoints of other systems
	Session   string // only those with a point of this session; empty: any
	Limit     int    // at most so many; 0: all
	OnPurpose bool   // none that only restores took, before they changed files

	Skipped func(records.Note) // told of each ref that is no checkpoint after all; may be nil
}

// List returns snapshots, newest first. Where the store has none, as after it
// was deleted, they are those that the store ref keeps. With a [records.ErrDamaged]
// come those whose records are whole.
func (r *Reader) List(ctx context.Context, opt *Options) ([]*records.Snapshot, error) {
	if opt == nil {
		opt = &Options{}
	}
	out, damage := r.query(ctx, opt)
	if damage != nil && !errors.Is(damage, records.ErrDamaged) {
		return nil, damage
	}
	var err error
	var beside []*records.Snapshot
	if opt.All {
		beside, err = r.beside(ctx, true, opt.Skipped)
	} else {
		beside, err = r.orphans(ctx)
	}
	for _, s := range beside {
		if s.InSession(opt.Session) {
			out = append(out, s)
		}
	}
	if len(beside) > 0 {
		newestFirst(out)
	}
	if opt.Limit > 0 && len(out) > opt.Limit {
		out = out[:opt.Limit]
	}
	if err == nil {
		err = r.Fill(ctx, out...)
	}
	return out, errors.Join(damage, err)
}

// query returns those of the store's snapshots that the options choose. Beside a
// damaged record the others are returned.
func (r *Reader) query(ctx context.Context, opt *Options) ([]*records.Snapshot, error) {
	q := &records.Query{All: opt.All, Session: opt.Session, Limit: opt.Limit, OnPurpose: opt.OnPurpose}
	err := r.View(ctx, q.Read)
	if err != nil && !errors.Is(err, records.ErrDamaged) {
		return nil, err
	}
	out, damage := q.Snapshots()
	return out, errors.Join(err, damage)
}

// beside returns all that git has beside the store, newest first.
func (r *Reader) beside(ctx context.Context, told bool, skipped func(records.Note)) ([]*records.Snapshot, error) {
	if r.Objects.Git == nil {
		return nil, nil
	}
	o, err := r.Outside(ctx)
	if err != nil {
		return nil, err
	}
	list, err := o.All(ctx, told, skipped)
	newestFirst(list)
	return list, err
}

// newestFirst sorts by time; what has the same time keeps its order.
func newestFirst(list []*records.Snapshot) {
	slices.SortStableFunc(list, func(a, b *records.Snapshot) int { return b.Time.Compare(a.Time) })
}

// orphans returns the snapshots of ours that the store ref keeps, if the store
// has no record of any.
func (r *Reader) orphans(ctx context.Context) ([]*records.Snapshot, error) {
	if r.Objects.Git == nil {
		return nil, nil
	}
	if empty, err := r.Empty(ctx); err != nil || !empty {
		return nil, err
	}
	o, err := r.Outside(ctx)
	if err != nil {
		return nil, err
	}
	list, err := o.Lost(ctx)
	return slices.DeleteFunc(list, (*records.Snapshot).Foreign), err
}

// Empty reports whether the store has no record of any snapshot.
func (r *Reader) Empty(ctx context.Context) (bool, error) {
	empty := true
	err := r.View(ctx, func(v *records.View) error {
		empty = v.Empty()
		return nil
	})
	return empty, err
}

// Stored returns every snapshot that the store has a record of, newest first, as
// the records have them.
func (r *Reader) Stored(ctx context.Context) (all []*records.Snapshot, err error) {
	err = r.View(ctx, func(v *records.View) error {
		for s, err := range v.Snapshots() {
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	return all, err
}

// Before returns the snapshot of the same worktree that was recorded on purpose
// before s, nil if there is none; of a checkpoint, the one of the same system before it.
func (r *Reader) Before(ctx context.Context, s *records.Snapshot) (earlier *records.Snapshot, err error) {
	if s.Foreign() {
		return r.beforeCheckpoint(ctx, s)
	}
	err = r.View(ctx, func(v *records.View) (err error) {
		earlier, err = v.Before(s)
		return err
	})
	if err == nil {
		err = r.Fill(ctx, earlier)
	}
	return earlier, err
}

// beforeCheckpoint returns the checkpoint of the same system, conversation and
// branch that came before s.
func (r *Reader) beforeCheckpoint(ctx context.Context, s *records.Snapshot) (*records.Snapshot, error) {
	list, err := r.beside(ctx, false, nil)
	if err != nil {
		return nil, err
	}
	session := func(s *records.Snapshot) string {
		if len(s.Points) == 0 {
			return ""
		}
		return s.Points[0].Session
	}
	for _, t := range list {
		if t.Time.Before(s.Time) && t.Source.Kind == s.Source.Kind && t.Branch == s.Branch && session(t) == session(s) {
			return t, nil
		}
	}
	return nil, nil
}
