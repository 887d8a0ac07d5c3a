package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Here returns the snapshot at which the files of the worktree stand, before
// what was edited since: the one that was restored last, as a whole, if nothing
// was recorded on purpose since; else the newest that was, which is "@". After an
// undo or redo it is the one at which they stood before what was taken back. It
// is nil if there is none.
func (r *Reader) Here(ctx context.Context) (*records.Snapshot, error) {
	var s *records.Snapshot
	var id oid.ID
	err := r.View(ctx, func(v *records.View) (err error) {
		s, id, err = StandsAt(v)
		return err
	})
	if err == nil && s == nil && !id.IsZero() {
		if s, err = r.Find(ctx, id); errors.Is(err, ErrNoSnapshot) { // it was pruned
			s, err = nil, nil
		}
	}
	if s != nil || err != nil {
		return s, errors.Join(err, r.Fill(ctx, s))
	}
	list, err := r.List(ctx, &Options{OnPurpose: true, Limit: 1})
	if len(list) > 0 {
		return list[0], nil
	}
	return nil, err
}

// StandsAt returns the snapshot at which the owner's files stand, and its id: zero
// if there is none. The snapshot is nil where the store has no record of it, as of
// another system's checkpoint, or none that can be read.
func StandsAt(v *records.View) (s *records.Snapshot, id oid.ID, err error) {
	w, ok, err := v.Worktree()
	if err != nil {
		return nil, id, err
	}
	if ok && !w.At.IsZero() {
		s, err = v.Find(w.At)
		id = w.At
	} else if s, err = NewestOnPurpose(v); s != nil {
		id = s.ID
	}
	if errors.Is(err, records.ErrDamaged) { // whoever needs it is told
		s, err = nil, nil
	}
	return s, id, err
}

// NewestOnPurpose returns the owner's newest snapshot that was recorded on purpose,
// nil if there is none.
func NewestOnPurpose(v *records.View) (*records.Snapshot, error) {
	q := &records.Query{OnPurpose: true, Limit: 1}
	if err := q.Read(v); err != nil {
		return nil, err
	}
	list, err := q.Snapshots()
	if len(list) == 0 {
		return nil, err
	}
	return list[0], err
}

// Operations returns what was ever restored, undone and redone in the worktree,
// newest first. The N-th is what "undo:N" speaks of.
func (r *Reader) Operations(ctx context.Context) ([]*records.Operation, error) {
	return records.Read(ctx, r.View, func(v *records.View) ([]*records.Operation, error) { return v.Operations(0) })
}

// LastOfTurn returns the newest snapshot that an agent's turn made, at its end or at
// one of its tools.
func (r *Reader) LastOfTurn(ctx context.Context) (*records.Snapshot, error) {
	list, err := r.List(ctx, &Options{OnPurpose: true})
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if slices.ContainsFunc(s.Points, func(p records.Point) bool { return p.Trigger == "turn" || p.Trigger == "tool" }) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w of an agent's turn: nobody knows what was changed since", ErrNoSnapshot)
}
