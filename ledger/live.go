package ledger

import (
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Reason says why a session refers to a snapshot; reasons are or-ed.
type Reason uint8

// The reasons. Current, Undo, Pending and Labelled are reasons to keep a
// snapshot whatever its age.
const (
	Bound      Reason = 1 << iota // an entry's point
	Current                       // the state of the worktree, at the leaf or as said last in the file
	Undo                          // the way back from the last restore, likewise
	Pending                       // left for the child of a fork
	Labelled                      // the point of an entry with a label, through the lineage
	Mention                       // named by a record; alone: nothing uses it now, as an overridden point
	Unreadable                    // in a line or record that cannot be used
)

// A Reference is how a session refers to one snapshot.
type Reference struct {
	Reasons Reason
	Time    time.Time // of the newest entry that names it, zero if unknown
}

// Live returns every snapshot that the session refers to. Retention keeps the
// union over all sessions of a repository; what a parent alone refers to is in
// the parent's own set, except for the labels of this session.
//
// A sweep that sees thousands of sessions opens each through one Sessions that
// keeps only those that others were forked from: the rest is never asked again.
func (c *Sessions) Live(s *Session) map[oid.ID]Reference {
	live := make(liveSet)
	var last State
	for i := range s.entries {
		r := s.entries[i].record
		if r == nil {
			continue
		}
		for _, id := range r.Mentioned {
			live.add(id, Mention, s.entries[i].Time)
		}
		if r.Kind == Op && !r.Current.IsZero() {
			last.Current = r.Current
		}
		if r.Kind == Op && !r.Undo.IsZero() {
			last.Undo = r.Undo
		}
	}
	for _, id := range s.bound {
		live.add(id, Bound, time.Time{})
	}
	for _, id := range s.mentioned {
		live.add(id, Unreadable, time.Time{})
	}
	live.pin(last)
	if leaf, ok := s.Leaf(); ok {
		live.pin(s.State(leaf.ID))
	}
	if r, ok := s.lastPending(); ok {
		live.add(r.Current, Pending, time.Time{})
		live.add(r.Undo, Pending, time.Time{})
	}
	c.pinLabels(live, s)
	return live
}

// pinLabels adds the points of labelled entries. Which of them exist is not
// known here, so each session of the lineage adds its own.
func (c *Sessions) pinLabels(live liveSet, s *Session) {
	if len(s.labels) == 0 {
		return
	}
	for ancestor := range c.Lineage(s) {
		for entry := range s.labels {
			live.add(ancestor.bound[entry], Labelled, time.Time{})
		}
	}
}

type liveSet map[oid.ID]Reference

func (l liveSet) add(id oid.ID, why Reason, at time.Time) {
	if id.IsZero() {
		return
	}
	ref := l[id]
	ref.Reasons |= why
	if at.After(ref.Time) {
		ref.Time = at
	}
	l[id] = ref
}

func (l liveSet) pin(st State) {
	l.add(st.Current, Current, time.Time{})
	l.add(st.Newest, Current, time.Time{})
	l.add(st.Undo, Undo, time.Time{})
}
