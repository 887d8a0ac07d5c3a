package records

// A Query chooses snapshots of a store. It is read while the store is open, and
// decoded when others may write again.
type Query struct {
	All     bool   // of every worktree; else the owner's
	Session string // with a point of this session; "": any
	Limit   int    // at most so many; 0: all

	OnPurpose bool // none that only restores took

	owner *Owner
	found []*Snapshot
	rows  []row // not decoded yet
}

// Read reads what the query asks for. Without All it leaves out what other
// worktrees and other systems made; what is of an unknown worktree, since its
// record was lost, may be of this one.
func (q *Query) Read(v *View) error {
	q.owner = v.owner
	for key, value := range v.Table(tableSnapshots).Backward() {
		if !q.All && elsewhere(value, q.owner.Key) {
			continue
		}
		r := row{key, value}
		if q.Limit == 0 {
			q.rows = append(q.rows, r)
			continue
		}
		s, err := r.decode()
		if err != nil {
			return err
		}
		if !q.wants(s) {
			continue
		}
		if q.found = append(q.found, s); len(q.found) == q.Limit {
			break
		}
	}
	return nil
}

// Snapshots returns what was read, newest first. Beside the error of a damaged
// record the others are returned.
func (q *Query) Snapshots() ([]*Snapshot, error) {
	all, err := decodeAll(q.rows)
	for _, s := range all {
		if s != nil && q.wants(s) {
			q.found = append(q.found, s)
		}
	}
	q.rows = nil
	return q.found, err
}

func (q *Query) wants(s *Snapshot) bool {
	if q.OnPurpose && s.OfRestore() {
		return false
	}
	return (q.All || s.Where == q.owner.Key || s.Where == "" && !s.Foreign()) && s.InSession(q.Session)
}
