package ledger

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// branch returns the path from the root to the entry with the id. It begins where an
// entry is missing, because its line is lost, or where the parents form a cycle.
func (s *Session) branch(leafID string) (path []*Entry) {
	seen := make(map[int]bool)
	for id := leafID; id != ""; {
		i, ok := s.byID[id]
		if !ok || seen[i] {
			break
		}
		seen[i] = true
		path = append(path, &s.entries[i])
		id = s.entries[i].ParentID
	}
	slices.Reverse(path)
	return path
}

// A State is what the records on a branch say about the worktree. A zero id
// means that they do not say.
type State struct {
	// Current is what pi-rewind-hook takes for the state of the worktree when
	// it opens the session here: what the last op on the branch says, even if
	// points follow it, and only without one the last point.
	Current oid.ID
	// Undo is the state before the last restore that an op tells of.
	Undo oid.ID
	// Newest is the later of the last op's current and the last point.
	Newest oid.ID
}

// State returns the state at the end of the branch that leads to the entry.
func (s *Session) State(leafID string) State {
	var st State
	var point oid.ID
	for _, e := range s.branch(leafID) {
		if id, ok := s.bound[e.ID]; ok && e.restorable() {
			point, st.Newest = id, id
		}
		if e.record == nil || e.record.Kind != Op {
			continue
		}
		if id := e.record.Current; !id.IsZero() {
			st.Current, st.Newest = id, id
		}
		if id := e.record.Undo; !id.IsZero() {
			st.Undo = id
		}
	}
	if st.Current.IsZero() {
		st.Current = point
	}
	return st
}
