package engine

import (
	"context"
	"errors"

	"github.com/seed-82afce7a/rewind/engine/records"
)

// ListOptions choose snapshots. The zero value is all of this worktree.
type ListOptions struct {
	All       bool   // of every worktree that shares the store, and the checkpoints of other systems
	Session   string // only those with a point of this session; empty: any
	Limit     int    // at most so many; 0: all
	OnPurpose bool   // none that only restores took, before they changed files

	Skipped func(Note) // told of each ref that is no checkpoint after all; may be nil
}

// List returns snapshots, newest first. Where the store has none, as after it
// was deleted, they are those that the store ref keeps. With an [ErrDamaged] come
// those whose records are whole.
func (e *Engine) List(ctx context.Context, opt *ListOptions) ([]*Snapshot, error) {
	if opt == nil {
		opt = &ListOptions{}
	}
	out, damage := e.query(ctx, opt)
	if damage != nil && !errors.Is(damage, ErrDamaged) {
		return nil, damage
	}
	var err error
	var beside []*Snapshot
	if opt.All {
		beside, err = e.beside(ctx, true, opt.Skipped)
	} else {
		beside, err = e.orphans(ctx)
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
		err = e.fill(ctx, out...)
	}
	return out, errors.Join(damage, err)
}

// query returns those of the store's snapshots that the options choose. Beside a
// damaged record the others are returned.
func (e *Engine) query(ctx context.Context, opt *ListOptions) ([]*Snapshot, error) {
	q := &records.Query{All: opt.All, Session: opt.Session, Limit: opt.Limit, OnPurpose: opt.OnPurpose}
	err := e.view(ctx, q.Read)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	out, damage := q.Snapshots()
	return out, errors.Join(err, damage)
}

// Before returns the snapshot of the same worktree that was recorded on purpose
// before s, nil if there is none; of a checkpoint, the one of the same system before it.
func (e *Engine) Before(ctx context.Context, s *Snapshot) (earlier *Snapshot, err error) {
	if s.Foreign() {
		return e.beforeOutsider(ctx, s)
	}
	err = e.view(ctx, func(v *records.View) (err error) {
		earlier, err = v.Before(s)
		return err
	})
	if err == nil {
		err = e.fill(ctx, earlier)
	}
	return earlier, err
}
