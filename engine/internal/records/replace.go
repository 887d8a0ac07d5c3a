package records

import (
	"errors"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Replacement is a snapshot on its way from one id to another, which a purge
// gives it.
type Replacement struct {
	Old, New  oid.ID
	Snapshot  *Snapshot // the new one
	Elsewhere bool      // the old one is in another store, and was never in the ref; with Outside
	Outside   bool      // the old one had no record; then Snapshot may be nil, if the new one is there already
	Paths     []string  // what went of it, for who purges
}

// Replace puts the new snapshots into the places of the old ones: their records,
// and wherever a pin, a worktree or an operation names them. The old ids go on
// finding them. One that was pruned meanwhile is left alone.
func (u *Update) Replace(all []Replacement) error {
	ids := map[oid.ID]oid.ID{}
	if err := u.forgetKept(); err != nil { // git has none of the new ones, and they have old numbers
		return err
	}
	for _, r := range all {
		ids[r.Old] = r.New
		if err := u.replaceRecord(r); err != nil {
			return err
		}
	}
	for key, value := range u.Table(tableRenamed).All() {
		if id, err := oid.FromBytes(value); err == nil && !ids[id].IsZero() {
			old, _ := oid.FromBytes(key)
			ids[old] = ids[id]
		}
	}
	for old, id := range ids {
		if err := u.put(tableRenamed, old.Bytes(), id.Bytes()); err != nil {
			return err
		}
	}
	return errors.Join(u.repoint(ids), u.rebase(ids, nil))
}

func (u *Update) replaceRecord(r Replacement) error {
	if r.Outside {
		if !r.Elsewhere {
			if err := u.LetGo(r.Old); err != nil || r.Snapshot == nil {
				return err
			}
		}
		now, err := u.Find(r.New)
		if err != nil || now != nil && now.ID == r.New && (r.Snapshot == nil || !now.lacksOverlay()) {
			return err
		}
		return errors.Join(u.Record(r.Snapshot, true), u.remove(tableLost, r.New.Bytes()))
	}
	now, err := u.Find(r.Old)
	if err != nil || now == nil || now.ID != r.Old {
		return err // pruned meanwhile
	}
	r.Snapshot.Points = now.Points
	seq, err := u.Table(tableByID).Value(r.Old.Bytes())
	if err != nil {
		return err
	}
	was := u.changed(seq)
	if err := u.forget(r.Old); err != nil {
		return err
	}
	if was != nil { // what it changed may name what was purged
		if err := u.put(tableChanges, seq, (&changes.Changed{Base: was.Base}).Encode()); err != nil {
			return err
		}
	}
	value, err := r.Snapshot.encode()
	if err != nil {
		return err
	}
	if err := u.put(tableSnapshots, seq, value); err != nil {
		return err
	}
	if err := u.put(tableByID, r.New.Bytes(), seq); err != nil || !u.owner.Git {
		return err
	}
	return u.put(tablePending, seq, r.New.Bytes())
}

// repoint makes pins, worktrees and operations name the new ids.
func (u *Update) repoint(ids map[oid.ID]oid.ID) error {
	for name, id := range u.Pins() {
		if ids[id].IsZero() {
			continue
		}
		if err := u.Pin(name, ids[id]); err != nil {
			return err
		}
	}
	var changed []*Operation
	for op, err := range u.operations() {
		if err != nil {
			return err
		}
		if renew(ids, &op.From, &op.To, &op.Stood) {
			changed = append(changed, op)
		}
	}
	for _, op := range changed {
		if err := u.putOperation(op); err != nil {
			return err
		}
	}
	all, err := u.Worktrees()
	for key, w := range all {
		if err == nil && renew(ids, &w.Last, &w.At) {
			err = u.putWorktree(key, w)
		}
	}
	return err
}

// renew gives ids their new values, and reports whether any has one.
func renew(ids map[oid.ID]oid.ID, all ...*oid.ID) (changed bool) {
	for _, id := range all {
		if now := ids[*id]; !now.IsZero() {
			*id, changed = now, true
		}
	}
	return changed
}
