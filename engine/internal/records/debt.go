package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Counted is a snapshot with its number, and what is known of git's having it.
type Counted struct {
	ID       oid.ID
	Number   uint64 // counts the snapshots of the store up to this one, and is never used twice; 0: not known
	Recorded bool   // the store has a record of it
	Pending  bool   // it may not be in git yet

	key []byte // of its row among those that are pending
}

// A Debt is what the store knows that git may still lack.
type Debt struct {
	Pending []Counted       // snapshots that may not be in git yet, oldest first
	Dropped map[oid.ID]bool // snapshots that the ref is to let go of
	Any     bool            // there is a snapshot that is whole
	InGit   oid.ID          // the newest that git is known to have: a ref that does not keep it has lost something; zero: there is none
	Kept    Kept            // up to where the ref was found to keep everything
	Since   []Counted       // the snapshots that are whole and came since then, in no order. Where these are very many, Kept is zero
}

// Debt reads what git may lack; nothing without git. With all, nothing counts that was
// found before: then Kept is zero, and Since has every snapshot that is whole.
func (v *View) Debt(all bool) (d Debt, err error) {
	if !v.owner.Git {
		return d, nil
	}
	d.Dropped = v.dropped()
	pending := map[oid.ID]bool{}
	for key, value := range v.Table(tablePending).All() {
		id, err := oid.FromBytes(value)
		if err != nil {
			return d, fmt.Errorf("%w: pending row %x", ErrDamaged, key)
		}
		pending[id] = true
		seq, err := v.Table(tableByID).Value(id.Bytes())
		row := Counted{key: key, ID: id, Pending: true, Recorded: err == nil && bytes.Equal(seq, key)}
		if len(key) == 8 {
			row.Number = binary.BigEndian.Uint64(key)
		}
		d.Pending = append(d.Pending, row)
	}
	if !all {
		d.Kept = v.kept()
	}
	if err = v.newest(&d, pending); err == nil && all {
		d.Since, err = v.counted(pending)
	}
	return d, err
}

// newest reads the newest snapshots, as far back as a debt wants to know of them.
func (v *View) newest(d *Debt, pending map[oid.ID]bool) error {
	for key, value := range v.Table(tableSnapshots).Backward() {
		if len(key) != 8 {
			return fmt.Errorf("%w: the number of a snapshot: %x", ErrDamaged, key)
		}
		number := binary.BigEndian.Uint64(key)
		if len(d.Since) == sinceMax {
			d.Kept, d.Since = Kept{}, nil
		}
		since := !d.Kept.Tip.IsZero() && number > d.Kept.Upto
		if !d.InGit.IsZero() && !since {
			break
		}
		s, err := row{key: key, value: value}.decode()
		if err != nil {
			return err
		}
		if s.Lost != "" {
			continue
		}
		d.Any = true
		if d.InGit.IsZero() && !pending[s.ID] {
			d.InGit = s.ID
		}
		if since {
			d.Since = append(d.Since, Counted{ID: s.ID, Number: number, Recorded: true, Pending: pending[s.ID]})
		}
	}
	return nil
}

// Settle notes what was found of the ref: up to where it keeps everything, if that is
// known, and the snapshots that git has now. These are not pending any more, if their rows
// are still about them. One that was pruned or purged on its way into git goes from there
// again.
func (u *Update) Settle(k Kept, list ...Counted) error {
	for _, p := range list {
		if err := u.settle(p); err != nil {
			return err
		}
	}
	return u.keep(k)
}

func (u *Update) settle(p Counted) error {
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

// dropped returns the snapshots that the ref is to let go of.
func (v *View) dropped() map[oid.ID]bool {
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
		if s.Lost = reason; reason == "" { // it was not counted among those that the ref keeps
			if err := u.forgetKept(); err != nil {
				return err
			}
		}
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
