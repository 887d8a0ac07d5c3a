package records

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Worktree is what the store knows of one.
type Worktree struct {
	Root  Path      `json:"root"`            // where it was last seen
	Birth string    `json:"birth,omitempty"` // of its directory
	Umask tree.Mode `json:"umask"`           // of all its snapshots
	Last  oid.ID    `json:"last,omitzero"`   // its newest snapshot
	At    oid.ID    `json:"at,omitzero"`     // the snapshot at which its files stand; zero: the newest that was recorded on purpose
}

// Worktree returns the record of the owner; ok is false if it has none, or one
// that was not made for this very directory.
func (v *View) Worktree() (w Worktree, ok bool, err error) {
	if w, ok, err = v.worktree(); err != nil || !ok || v.madeFor(w.Birth) > perhaps {
		return Worktree{}, false, err
	}
	return w, true, nil
}

// worktree returns the record under the owner's key, whoever made it.
func (v *View) worktree() (w Worktree, ok bool, err error) {
	value, err := v.Table(tableWorktrees).Value([]byte(v.owner.Key))
	if errors.Is(err, cas.ErrNotFound) {
		return w, false, nil
	}
	if err != nil {
		return w, false, err
	}
	w, err = decodeWorktree(v.owner.Key, value)
	return w, err == nil, err
}

// Worktrees returns every worktree that shares the store, by key.
func (v *View) Worktrees() (map[string]Worktree, error) {
	all := map[string]Worktree{}
	for key, value := range v.Table(tableWorktrees).All() {
		w, err := decodeWorktree(string(key), value)
		if err != nil {
			return nil, err
		}
		all[string(key)] = w
	}
	return all, nil
}

func decodeWorktree(key string, value []byte) (w Worktree, err error) {
	if err := json.Unmarshal(value, &w); err != nil {
		return w, fmt.Errorf("%w: record of worktree %q: %w", ErrDamaged, key, err)
	}
	return w, nil
}

// Last returns the owner's newest snapshot, nil if it has none.
func (v *View) Last() (*Snapshot, error) {
	w, ok, err := v.Worktree()
	if err != nil || !ok || w.Last.IsZero() {
		return nil, err
	}
	return v.Find(w.Last)
}

// SetLast makes a snapshot the owner's newest one. The files stand at it, unless
// a restore took it: they stand where they stood.
func (u *Update) SetLast(s *Snapshot) error {
	if _, err := u.bindHistory(); err != nil {
		return err
	}
	before, _, err := u.Worktree()
	if err != nil {
		return err
	}
	at := s.ID
	if s.OfRestore() {
		at = before.At
	}
	return u.putWorktree(u.owner.Key, Worktree{Root: u.owner.Root, Birth: u.owner.Birth, Umask: s.Umask, Last: s.ID, At: at})
}

func (u *Update) putWorktree(key string, w Worktree) error {
	value, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return u.put(tableWorktrees, []byte(key), value)
}
