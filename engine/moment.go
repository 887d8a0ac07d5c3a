package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Here returns the snapshot at which the files of the worktree stand, before
// what was edited since: the one that was restored last, as a whole, if nothing
// was recorded on purpose since; else the newest that was, which is "@". After an
// undo or redo it is the one at which they stood before what was taken back. It
// is nil if there is none.
func (e *Engine) Here(ctx context.Context) (*Snapshot, error) {
	var s *Snapshot
	var id oid.ID
	err := e.view(ctx, func(v *records.View) (err error) {
		s, id, err = standsAt(v)
		return err
	})
	if err == nil && s == nil && !id.IsZero() {
		if s, err = e.Find(ctx, id); errors.Is(err, ErrNoSnapshot) { // it was pruned
			s, err = nil, nil
		}
	}
	if s != nil || err != nil {
		return s, errors.Join(err, e.fill(ctx, s))
	}
	list, err := e.List(ctx, &ListOptions{OnPurpose: true, Limit: 1})
	if len(list) > 0 {
		return list[0], nil
	}
	return nil, err
}

// standsAt returns the snapshot at which the owner's files stand, and its id: zero
// if there is none. The snapshot is nil where the store has no record of it, as of
// another system's checkpoint, or none that can be read.
func standsAt(v *records.View) (s *Snapshot, id oid.ID, err error) {
	w, ok, err := v.Worktree()
	if err != nil {
		return nil, id, err
	}
	if ok && !w.At.IsZero() {
		s, err = v.Find(w.At)
		id = w.At
	} else if s, err = newestOnPurpose(v); s != nil {
		id = s.ID
	}
	if errors.Is(err, ErrDamaged) { // whoever needs it is told
		s, err = nil, nil
	}
	return s, id, err
}

// newestOnPurpose returns the owner's newest snapshot that was recorded on purpose,
// nil if there is none.
func newestOnPurpose(v *records.View) (*Snapshot, error) {
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
func (e *Engine) Operations(ctx context.Context) (ops []*Operation, err error) {
	err = e.view(ctx, func(v *records.View) error {
		ops, err = v.Operations(0)
		return err
	})
	return ops, err
}

// resolveUndo finds the snapshot of what the N-th last operation replaced.
func (e *Engine) resolveUndo(ctx context.Context, text, number string) (*Snapshot, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || number[0] == '+' {
		return nil, fmt.Errorf("%w: %q is not undo:N, with N from 1", ErrNoSnapshot, text)
	}
	var ops []*Operation
	err = e.view(ctx, func(v *records.View) error {
		ops, err = v.Operations(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(ops) < n {
		return nil, fmt.Errorf("%w: %s (files of this worktree were restored, undone or redone %d times)", ErrNoSnapshot, text, len(ops))
	}
	s, err := e.Find(ctx, ops[n-1].From)
	if errors.Is(err, ErrNoSnapshot) {
		err = fmt.Errorf("%w: what %s names was pruned", ErrNoSnapshot, text)
	}
	return s, err
}

// speaksOfItself reports whether a name means a snapshot by itself, so that no pin can have it.
func speaksOfItself(name string) bool {
	return strings.HasPrefix(name, "@") || strings.HasPrefix(name, undoPrefix) || strings.HasPrefix(name, promptPrefix)
}

// undoPrefix stands before the number of an undo snapshot.
const undoPrefix = "undo:"
