package records

import (
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Snapshots returns every snapshot of the store, newest first, as the records have them.
func (v *View) Snapshots() (all []*Snapshot, err error) {
	for key, value := range v.Table(tableSnapshots).Backward() {
		s, err := row{key: key, value: value}.decode()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Empty reports whether the store has no record of any snapshot.
func (v *View) Empty() bool {
	for range v.Table(tableSnapshots).All() {
		return false
	}
	return true
}

// Count returns how many snapshots are of the owner, and how many there are.
func (v *View) Count() (own, total int, err error) {
	for key, value := range v.Table(tableSnapshots).Peek() {
		total++
		where, sure := whereOf(value)
		if !sure {
			s, err := row{key: key, value: value}.decode()
			if err != nil {
				return own, total, err
			}
			where = s.Where
		}
		if where == v.owner.Key {
			own++
		}
	}
	return own, total, nil
}

// Find looks a snapshot up by its id, also by one that it had before a purge;
// nil if there is none.
func (v *View) Find(id oid.ID) (*Snapshot, error) {
	seq, err := v.Table(tableByID).Value(id.Bytes())
	if errors.Is(err, cas.ErrNotFound) {
		if now := v.Renamed(id); !now.IsZero() && now != id {
			return v.Find(now)
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

// Recorded reports whether there is a snapshot under this very id.
func (v *View) Recorded(id oid.ID) (bool, error) {
	s, err := v.Find(id)
	return s != nil && s.ID == id, err
}

// Renamed returns the id that a snapshot has since a purge; zero if it has none.
func (v *View) Renamed(id oid.ID) oid.ID {
	value, err := v.Table(tableRenamed).Value(id.Bytes())
	if err != nil {
		return oid.ID{}
	}
	now, err := oid.FromBytes(value)
	if err != nil {
		return oid.ID{}
	}
	return now
}

// Before returns the snapshot of the same worktree that was recorded before s on
// purpose, nil if there is none. Where the table that leads from ids to records is
// damaged it is [ErrDamaged]: nobody knows then.
func (v *View) Before(s *Snapshot) (*Snapshot, error) {
	seq, err := v.Table(tableByID).Value(s.ID.Bytes())
	if errors.Is(err, cas.ErrNotFound) {
		return nil, v.unled(s)
	}
	if err == nil {
		_, err = v.Table(tableSnapshots).Value(seq) // what was before a record that cannot be found is another one's
	}
	if err != nil {
		return nil, fmt.Errorf("%w: record of snapshot %v: %w", ErrDamaged, s.ID, err)
	}
	for key, value := range v.Table(tableSnapshots).Before(seq) {
		if elsewhere(value, s.Where) {
			continue
		}
		other, err := row{key: key, value: value}.decode()
		if err != nil || other.Where == s.Where && !other.OfRestore() {
			return other, err
		}
	}
	return nil, nil
}

// unled is [ErrDamaged] if there is a record of a snapshot to which its id does not lead.
func (v *View) unled(s *Snapshot) error {
	for key, value := range v.Table(tableSnapshots).Peek() {
		if at, sure := timeOf(value); sure && !at.Equal(s.Time) || elsewhere(value, s.Where) {
			continue
		}
		if other, err := (row{key: key, value: value}).decode(); err == nil && other.ID == s.ID {
			return fmt.Errorf("%w: the id of snapshot %v does not lead to its record", ErrDamaged, s.ID)
		}
	}
	return nil
}

// Commits returns the commits of which there is a record: those of snapshots,
// and those that they were imported from.
func (v *View) Commits() (map[oid.ID]bool, error) {
	known := map[oid.ID]bool{}
	for key := range v.Table(tableByID).All() {
		id, err := oid.FromBytes(key)
		if err != nil {
			return nil, fmt.Errorf("%w: the id of a snapshot: %w", ErrDamaged, err)
		}
		known[id] = true
	}
	err := v.withSource(func(s *Snapshot) { known[s.Source.Commit] = true })
	return known, err
}

// Aliases returns for each id under which the store finds a snapshot the id that
// it has now: its own, that of the checkpoint it was imported from, and those it
// had before a purge.
func (v *View) Aliases() (map[oid.ID]oid.ID, error) {
	now := map[oid.ID]oid.ID{}
	err := v.withSource(func(s *Snapshot) { now[s.Source.Commit] = s.ID })
	for key := range v.Table(tableByID).All() {
		if id, err := oid.FromBytes(key); err == nil {
			now[id] = id
		}
	}
	for key, value := range v.Table(tableRenamed).All() {
		old, err := oid.FromBytes(key)
		to, other := oid.FromBytes(value)
		if err == nil && other == nil && now[old].IsZero() && !now[to].IsZero() {
			now[old] = now[to]
		}
	}
	return now, err
}

// withSource calls fn with the snapshots that have a source, newest first.
func (v *View) withSource(fn func(*Snapshot)) error {
	for key, value := range v.Table(tableSnapshots).Backward() {
		if !mayHaveSource(value) {
			continue
		}
		s, err := row{key: key, value: value}.decode()
		if err != nil {
			return err
		}
		if s.Source != nil {
			fn(s)
		}
	}
	return nil
}
