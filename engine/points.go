package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// SessionPoints is what a Pi session file says about snapshots. It names only
// snapshots that can be restored; a zero id means that none is said.
type SessionPoints struct {
	Points  map[string]oid.ID // by entry, also through the sessions it was forked from
	Current oid.ID            // the files at the leaf
	Undo    oid.ID            // the way back from the last restore, at the leaf

	// What the session left for the child of its last fork to begin with.
	PendingCurrent, PendingUndo oid.ID
}

// Points reads a Pi session file and, for entries that it does not bind, the
// sessions it was forked from. It looks for the given entries, nil: for every
// entry of the file; the branch of leaf, "": of the file's last entry, decides
// about Current and Undo. The file may be open in Pi; what Pi has not written
// yet is not seen.
func (e *Engine) Points(ctx context.Context, file, leaf string, entries []string) (*SessionPoints, error) {
	var sessions ledger.Sessions
	s, err := sessions.Open(file)
	if err != nil {
		return nil, err
	}
	exists := func(id oid.ID) bool { return e.exists(ctx, id) }
	out := &SessionPoints{Points: map[string]oid.ID{}}
	for _, entry := range entriesOf(s, entries) {
		if id, ok := sessions.Point(s, entry, exists); ok {
			out.Points[entry] = id
		}
	}
	if last, ok := s.Leaf(); ok && leaf == "" {
		leaf = last.ID
	}
	state := s.State(leaf)
	pending, _ := s.Pending()
	for _, said := range []struct{ from, to *oid.ID }{
		{&state.Current, &out.Current}, {&state.Undo, &out.Undo},
		{&pending.Current, &out.PendingCurrent}, {&pending.Undo, &out.PendingUndo},
	} {
		if exists(*said.from) {
			*said.to = *said.from
		}
	}
	return out, ctx.Err()
}

// entriesOf returns the entries to look for: those given, or all of the file.
func entriesOf(s *ledger.Session, given []string) []string {
	if given != nil {
		return given
	}
	var all []string
	for entry := range s.Entries() {
		all = append(all, entry.ID)
	}
	return all
}

// Existing returns those of the ids that name a snapshot which can be
// restored, in their order.
func (e *Engine) Existing(ctx context.Context, ids []oid.ID) ([]oid.ID, error) {
	out := []oid.ID{}
	for _, id := range ids {
		if e.exists(ctx, id) {
			out = append(out, id)
		}
	}
	return out, ctx.Err()
}

func (e *Engine) exists(ctx context.Context, id oid.ID) bool {
	if id.IsZero() {
		return false
	}
	_, err := e.Find(ctx, id)
	return err == nil
}

// Branch returns the branch that HEAD is on, as [Snapshot.Branch] has it; empty
// when HEAD is detached, unreadable, or without git.
func (e *Engine) Branch() string {
	if e.repo == nil {
		return ""
	}
	head, err := e.repo.Head()
	if err != nil {
		return ""
	}
	return head.Branch
}
