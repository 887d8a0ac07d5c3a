package records

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An away says that the owner's files are away for a while, at other snapshots,
// and how everything is to be when they are back. It is a part of the history: it
// counts only for the directory in which it was written.
type away struct {
	Home  oid.ID          `json:"home"`            // the present as it was
	Stood oid.ID          `json:"stood,omitzero"`  // where the files stood then
	Undo  uint64          `json:"undo,omitempty"`  // what undo took back then
	Redo  uint64          `json:"redo,omitempty"`  // what redo took back then
	Since time.Time       `json:"since"`           // when that was
	State json.RawMessage `json:"state,omitempty"` // what it is for: whoever took the files away knows
}

// After reports whether an operation was begun since the files are away.
func (a *away) After(op *Operation) bool { return op != nil && op.Seq > max(a.Undo, a.Redo) }

// awayFrom calls a function with the root of each worktree whose files are away, or in the
// middle of an operation, and with the birth of its directory.
func (v *View) awayFrom(call func(root Path, birth string) error) error {
	all, err := v.Worktrees()
	for key, w := range all {
		row, _, bad := v.historyRow(key)
		if err == nil {
			err = bad
		}
		if err == nil && (row.Away != nil || row.Open != 0) {
			err = call(w.Root, row.Birth)
		}
	}
	return err
}

// SetAway says that the owner's files are about to be away from home, and stood at
// a snapshot until now. Of files that are away already it keeps another state. With
// a zero home they are back: undo and redo take back what they took back before, and
// the files stand where they stood.
func (u *Update) SetAway(home, stood oid.ID, state json.RawMessage) error {
	row, err := u.bindHistory()
	if err != nil {
		return err
	}
	a := row.Away
	switch {
	case home.IsZero() && a == nil:
		return nil
	case home.IsZero():
		row.Undo, row.Redo, row.Away = a.Undo, a.Redo, nil
		err = u.Stand(a.Stood)
	case a == nil:
		row.Away = &away{Home: home, Stood: stood, Undo: row.Undo, Redo: row.Redo, Since: u.owner.Now(), State: state}
	default:
		a.State = state
	}
	return errors.Join(err, u.putHistory(u.owner.Key, row))
}
