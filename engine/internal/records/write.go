package records

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Record writes the record of a snapshot. Pending says that git, if there is
// one, may not have the snapshot yet. If git had it first, another process may
// have made a record of it from the commit alone: that one is replaced, for
// this one says more.
func (u *Update) Record(s *Snapshot, pending bool) error {
	if u.owner.Git && s.Held == "" { // not of a scan: what git had is left there
		s.Held = HeldByGit
	}
	value, err := s.encode()
	if err != nil {
		return err
	}
	if seq, err := u.Table(tableByID).Value(s.ID.Bytes()); err == nil {
		return u.put(tableSnapshots, seq, value)
	}
	seq, err := u.Table(tableSnapshots).Append(value)
	if err != nil {
		return err
	}
	if err := u.put(tableByID, s.ID.Bytes(), seqKey(seq)); err != nil || !pending || !u.owner.Git {
		return err
	}
	return u.put(tablePending, seqKey(seq), s.ID.Bytes())
}

// AddPoint says of a snapshot what else it was taken for, if that is anything
// new.
func (u *Update) AddPoint(s *Snapshot, p Point) error {
	if s.Knows(p) {
		return nil
	}
	s.Points = append(s.Points, p)
	_, err := u.rewrite(s)
	return err
}

// Label gives a snapshot a label, which is its newest from then on; with remove it takes
// the label away, wherever its points have it; white space around one is of no account.
// Not changed: so it was already.
func (u *Update) Label(s *Snapshot, text string, remove bool) (changed bool, err error) {
	has := func(p Point) bool { return strings.TrimSpace(p.Label) == text }
	if remove && !slices.ContainsFunc(s.Points, has) || !remove && s.Label() == text {
		return false, nil
	}
	s.Points = slices.DeleteFunc(s.Points, func(p Point) bool { return p.Later && has(p) })
	if remove {
		for i := range s.Points {
			if !has(s.Points[i]) {
				continue
			}
			if s.Points[i].Label = ""; s.Points[i].ofRestore() { // the label alone said that it is none of a restore
				s.Points[i].Trigger = ""
			}
		}
	} else {
		s.Points = append(s.Points, Point{Label: text, Later: true, Time: u.owner.Now()})
	}
	_, err = u.rewrite(s)
	return true, err
}

// rewrite puts a record into the place of the one with the same id, and returns
// where that is.
func (u *Update) rewrite(s *Snapshot) (seq []byte, err error) {
	value, err := s.encode()
	if err != nil {
		return nil, err
	}
	if seq, err = u.Table(tableByID).Value(s.ID.Bytes()); err != nil {
		return nil, err
	}
	return seq, u.put(tableSnapshots, seq, value)
}

// Forget removes the records of snapshots. The ref is to let go of them too. What
// a later one changed is compared with what is left before it.
func (u *Update) Forget(ids ...oid.ID) error {
	gone := map[oid.ID]*changes.Changed{}
	for _, id := range ids {
		if seq, err := u.Table(tableByID).Value(id.Bytes()); err == nil {
			gone[id] = u.changed(seq)
		}
		if err := u.forget(id); err != nil {
			return err
		}
	}
	return u.rebase(nil, gone)
}

func (u *Update) forget(id oid.ID) error {
	seq, err := u.Table(tableByID).Value(id.Bytes())
	if err != nil {
		return err
	}
	for _, table := range []string{tableSnapshots, tablePending, tableChanges} {
		if err := u.remove(table, seq); err != nil {
			return err
		}
	}
	if err := u.remove(tableLost, id.Bytes()); err != nil {
		return err
	}
	if err := u.remove(tableByID, id.Bytes()); err != nil || !u.owner.Git {
		return err
	}
	return u.LetGo(id)
}

func (u *Update) put(table string, key, value []byte) error {
	return u.Table(table).Put(key, value)
}

func (u *Update) remove(table string, key []byte) error {
	return u.Table(table).Delete(key)
}
