package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ListOptions choose snapshots. The zero value is all of this worktree.
type ListOptions struct {
	All     bool       // of every worktree that shares the store, and the checkpoints of other systems
	Session string     // only those with a point of this session; empty: any
	Limit   int        // at most so many; 0: all
	Skipped func(Note) // told of each ref that is no checkpoint after all; may be nil
}

// List returns snapshots, newest first. Where the store has none, as after it
// was deleted, they are those that the store ref keeps. With an [ErrDamaged] come
// those whose records are whole.
func (e *Engine) List(ctx context.Context, opt *ListOptions) ([]*Snapshot, error) {
	if opt == nil {
		opt = &ListOptions{}
	}
	out, damage := e.records(ctx, opt)
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
		if s.of(opt.Session) {
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

// of reports whether the snapshot has a point of the session.
func (s *Snapshot) of(session string) bool {
	for _, p := range s.Points {
		if p.Session == session {
			return true
		}
	}
	return session == ""
}

// snapshots yields every snapshot of a store, newest first.
func snapshots(v *cas.View) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		for key, value := range v.Table(tableSnapshots).Backward() {
			s, err := decodeSnapshot(value)
			if err != nil {
				err = fmt.Errorf("%w: snapshot record %x: %w", ErrDamaged, key, err)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// view reads the store if there is one; without one there is nothing to read.
func (e *Engine) view(ctx context.Context, f func(*cas.View) error) error {
	s := e.opened()
	if s == nil {
		return nil
	}
	return storeError(s.View(ctx, f))
}

// find looks a snapshot up by its id, also by one that it had before a purge;
// nil if there is none.
func find(v *cas.View, id oid.ID) (*Snapshot, error) {
	seq, err := v.Table(tableByID).Value(id.Bytes())
	if errors.Is(err, cas.ErrNotFound) {
		if now := renamed(v, id); !now.IsZero() && now != id {
			return find(v, now)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value, err := v.Table(tableSnapshots).Value(seq)
	if err != nil {
		return nil, fmt.Errorf("%w: snapshot %v: %w", ErrDamaged, id, err)
	}
	s, err := decodeSnapshot(value)
	if err != nil {
		return nil, fmt.Errorf("%w: record of snapshot %v: %w", ErrDamaged, id, err)
	}
	return s, nil
}

// A worktreeRecord is what the store knows of a worktree.
type worktreeRecord struct {
	Root  Path      `json:"root"`            // where it was last seen
	Birth string    `json:"birth,omitempty"` // of its directory
	Umask tree.Mode `json:"umask"`           // of all its snapshots
	Last  oid.ID    `json:"last,omitzero"`   // its newest snapshot
}

// worktree returns the record of this worktree; ok is false if it has none, or
// one of another directory that had this name.
func (e *Engine) worktree(v *cas.View) (w worktreeRecord, ok bool, err error) {
	value, err := v.Table(tableWorktrees).Value([]byte(e.key))
	if errors.Is(err, cas.ErrNotFound) {
		return w, false, nil
	}
	if err != nil {
		return w, false, err
	}
	if err := json.Unmarshal(value, &w); err != nil {
		return w, false, fmt.Errorf("%w: record of worktree %q: %w", ErrDamaged, e.key, err)
	}
	if !sameBirth(w.Birth, e.birth) {
		return worktreeRecord{}, false, nil
	}
	return w, true, nil
}

// worktrees returns every worktree that shares the store, by key.
func worktrees(v *cas.View) (map[string]worktreeRecord, error) {
	all := map[string]worktreeRecord{}
	for key, value := range v.Table(tableWorktrees).All() {
		var w worktreeRecord
		if err := json.Unmarshal(value, &w); err != nil {
			return nil, fmt.Errorf("%w: record of worktree %q: %w", ErrDamaged, key, err)
		}
		all[string(key)] = w
	}
	return all, nil
}

func (e *Engine) putWorktree(u *cas.Update, w worktreeRecord) error {
	if _, err := e.bindHistory(u); err != nil {
		return err
	}
	w.Birth = e.birth
	value, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return u.Table(tableWorktrees).Put([]byte(e.key), value)
}

// last returns the worktree's newest snapshot, nil if it has none.
func (e *Engine) last(v *cas.View) (*Snapshot, error) {
	w, ok, err := e.worktree(v)
	if err != nil || !ok || w.Last.IsZero() {
		return nil, err
	}
	return find(v, w.Last)
}

// A pendingRow is a snapshot that may not be in git yet.
type pendingRow struct {
	seq    []byte
	id     oid.ID
	stands bool // the store has a record of it
}

// Before returns the snapshot of the same worktree that came before s, nil if
// s is its first; of a checkpoint, the one of the same system before it.
func (e *Engine) Before(ctx context.Context, s *Snapshot) (earlier *Snapshot, err error) {
	if s.foreign() {
		return e.beforeOutsider(ctx, s)
	}
	err = e.view(ctx, func(v *cas.View) (err error) {
		earlier, err = before(v, s)
		return err
	})
	if err == nil {
		err = e.fill(ctx, earlier)
	}
	return earlier, err
}
