package records

import (
	"errors"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Query chooses snapshots of a store. It is read while the store is open, and
// decoded when others may write again.
type Query struct {
	All     bool   // of every worktree; else the owner's
	Session string // with a point of this session; "": any
	Limit   int    // at most so many; 0: all
	Older   oid.ID // only those recorded before this one; zero: all

	Since, Until time.Time // only those from then on, or up to then; zero: any

	OnPurpose bool                 // none that only restores took
	Wants     func(*Snapshot) bool // and that is true of; nil: all

	// Touches says of a row whether the snapshot is chosen for what it changed; not
	// sure: it is, for the row does not tell. Nil chooses all.
	Touches func(*changes.Changed) (yes, sure bool)

	Doubt map[oid.ID]bool // found by Read: those of which the row did not tell

	owner *Owner
	found []*Snapshot
	rows  []row // not decoded yet
}

// Read reads what the query asks for. Without All it leaves out what other
// worktrees and other systems made; what is of an unknown worktree, since its
// record was lost, may be of this one.
func (q *Query) Read(v *View) error {
	q.owner = v.owner
	var before []byte
	if !q.Older.IsZero() {
		var err error
		if before, err = v.Table(tableByID).Value(q.Older.Bytes()); errors.Is(err, cas.ErrNotFound) {
			return nil // it went meanwhile, and nobody can say what came before it
		} else if err != nil {
			return err
		}
	}
	for key, value := range v.Table(tableSnapshots).Before(before) {
		if !q.All && elsewhere(value, q.owner.Key) {
			continue
		}
		if at, sure := timeOf(value); sure && (at.Before(q.Since) || !q.Until.IsZero() && at.After(q.Until)) {
			continue
		}
		r := row{key: key, value: value}
		if q.Touches != nil {
			yes, sure := q.Touches(v.changed(key))
			if sure && !yes {
				continue
			}
			r.doubt = !sure
		}
		if q.Limit == 0 {
			q.rows = append(q.rows, r)
			continue
		}
		s, err := r.decode()
		if err != nil {
			return err
		}
		if q.take(s, r.doubt); len(q.found) == q.Limit {
			break
		}
	}
	return nil
}

// Snapshots returns what was read, newest first. Beside the error of a damaged
// record the others are returned.
func (q *Query) Snapshots() ([]*Snapshot, error) {
	all, err := decodeAll(q.rows)
	for i, s := range all {
		if s != nil {
			q.take(s, q.rows[i].doubt)
		}
	}
	q.rows = nil
	return q.found, err
}

func (q *Query) take(s *Snapshot, doubt bool) {
	if !q.wants(s) {
		return
	}
	if q.found = append(q.found, s); doubt {
		if q.Doubt == nil {
			q.Doubt = map[oid.ID]bool{}
		}
		q.Doubt[s.ID] = true
	}
}

func (q *Query) wants(s *Snapshot) bool {
	if q.OnPurpose && s.OfRestore() || q.Wants != nil && !q.Wants(s) {
		return false
	}
	return (q.All || s.Where == q.owner.Key || s.Where == "" && !s.Foreign()) && s.InSession(q.Session)
}
