package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Pending is a snapshot that may not be in git yet.
type Pending struct {
	ID       oid.ID
	Recorded bool   // the store has a record of it
	Number   uint64 // counts the snapshots of the store up to this one; 0: not known

	key []byte
}

// A Debt is what the store knows that git may still lack.
type Debt struct {
	Pending []Pending       // snapshots that may not be in git yet, oldest first
	Dropped map[oid.ID]bool // snapshots that the ref is to let go of
	Newest  []oid.ID        // the newest snapshots, up to the first that is not pending
	Witness oid.ID          // that one: a ref that does not keep it has lost something; zero: there is none
}

// Debt reads what git may lack; nothing without git.
func (v *View) Debt() (d Debt, err error) {
	if !v.owner.Git {
		return d, nil
	}
	d.Dropped = v.Dropped()
	pending := map[oid.ID]bool{}
	for key, value := range v.Table(tablePending).All() {
		id, err := oid.FromBytes(value)
		if err != nil {
			return d, fmt.Errorf("%w: pending row %x", ErrDamaged, key)
		}
		pending[id] = true
		seq, err := v.Table(tableByID).Value(id.Bytes())
		row := Pending{key: key, ID: id, Recorded: err == nil && bytes.Equal(seq, key)}
		if len(key) == 8 {
			row.Number = binary.BigEndian.Uint64(key)
		}
		d.Pending = append(d.Pending, row)
	}
	for s, err := range v.Snapshots() {
		if err != nil {
			return d, err
		}
		if s.Lost == "" {
			d.Newest = append(d.Newest, s.ID)
		}
		if s.Lost == "" && !pending[s.ID] {
			d.Witness = s.ID
			break
		}
	}
	return d, nil
}

// Settle forgets that a snapshot is pending, if the row is still about it. One
// that was pruned or purged on its way into git goes from there again.
func (u *Update) Settle(p Pending) error {
	recorded, err := u.Recorded(p.ID)
	if err != nil {
		return err
	}
	if !recorded {
		if err := u.LetGo(p.ID); err != nil {
			return err
		}
	}
	now, err := u.Table(tablePending).Value(p.key)
	if errors.Is(err, cas.ErrNotFound) || err == nil && !bytes.Equal(now, p.ID.Bytes()) {
		return nil
	}
	return errors.Join(err, u.remove(tablePending, p.key))
}

// Dropped returns the snapshots that the ref is to let go of.
func (v *View) Dropped() map[oid.ID]bool {
	out := map[oid.ID]bool{}
	for key := range v.Table(tableDropped).All() {
		if id, err := oid.FromBytes(key); err == nil {
			out[id] = true
		}
	}
	return out
}

// LetGo notes that the ref is to let go of snapshots.
func (u *Update) LetGo(ids ...oid.ID) error {
	for _, id := range ids {
		if err := u.put(tableDropped, id.Bytes(), set); err != nil {
			return err
		}
	}
	return nil
}

// HasLetGo notes that the ref has let go of snapshots.
func (u *Update) HasLetGo(ids map[oid.ID]bool) error {
	for id := range ids {
		if err := u.remove(tableDropped, id.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// SetLost notes of snapshots why they cannot be restored as a whole any more,
// or with "" that they can. They are not pending then, since git gets a
// snapshot whole or not at all. A snapshot that has no record any more is
// passed over.
func (u *Update) SetLost(why map[oid.ID]string) error {
	for id, reason := range why {
		s, err := u.Find(id)
		if err != nil {
			return err
		}
		if s == nil || s.ID != id || s.Lost == reason {
			continue
		}
		s.Lost = reason
		seq, err := u.rewrite(s)
		if err != nil {
			return err
		}
		if err := u.markLost(s, seq); err != nil {
			return err
		}
	}
	return nil
}

// markLost keeps the table of lost snapshots in step with a record.
func (u *Update) markLost(s *Snapshot, seq []byte) error {
	if s.Lost == "" {
		return u.remove(tableLost, s.ID.Bytes())
	}
	return errors.Join(u.put(tableLost, s.ID.Bytes(), []byte(s.Lost)), u.remove(tablePending, seq))
}

// Lost names the snapshots that cannot be restored as a whole any more, and why.
func (v *View) Lost() []Note {
	var out []Note
	for key, why := range v.Table(tableLost).All() {
		if id, err := oid.FromBytes(key); err == nil {
			out = append(out, Note{Path: Path(id.String()), Reason: string(why)})
		}
	}
	return out
}
