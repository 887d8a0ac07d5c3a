package records

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A bisect says that the owner's files stand at other snapshots for a while,
// and how everything is to be when they are back. It is a part of the history: it
// counts only for the directory in which it was written.
type bisect struct {
	Home  oid.ID          `json:"home"`            // the present as it was
	Stood oid.ID          `json:"stood,omitzero"`  // where the files stood then
	Undo  uint64          `json:"undo,omitempty"`  // what undo took back then
	Redo  uint64          `json:"redo,omitempty"`  // what redo took back then
	Since time.Time       `json:"since"`           // when that was
	State json.RawMessage `json:"state,omitempty"` // the caller's
}

// After reports whether an operation was begun since then.
func (b *bisect) After(op *Operation) bool { return op != nil && op.Seq > max(b.Undo, b.Redo) }

// unsettled calls a function with the root of each worktree in which a bisect stands open or
// an operation has not ended, and with the birth of its directory.
func (v *View) unsettled(call func(root Path, birth string) error) error {
	all, err := v.Worktrees()
	for key, w := range all {
		row, _, bad := v.historyRow(key)
		if err == nil {
			err = bad
		}
		if err == nil && (row.Bisect != nil || row.Open != 0) {
			err = call(w.Root, row.Birth)
		}
	}
	return err
}

// SetBisect says that a bisect begins, with the snapshot of the present, and where the
// files stood until now. Of one that stands open it keeps another state. With
// a zero home it is over: undo and redo take back what they took back before, and
// the files stand where they stood.
func (u *Update) SetBisect(home, stood oid.ID, state json.RawMessage) error {
	row, err := u.bindHistory()
	if err != nil {
		return err
	}
	a := row.Bisect
	switch {
	case home.IsZero() && a == nil:
		return nil
	case home.IsZero():
		row.Undo, row.Redo, row.Bisect = a.Undo, a.Redo, nil
		err = u.Stand(a.Stood)
	case a == nil:
		row.Bisect = &bisect{Home: home, Stood: stood, Undo: row.Undo, Redo: row.Redo, Since: u.owner.Now(), State: state}
	default:
		a.State = state
	}
	return errors.Join(err, u.putHistory(u.owner.Key, row))
}
