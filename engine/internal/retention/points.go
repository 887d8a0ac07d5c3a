package retention

import (
	"context"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// An Asked says what is asked of a session file.
type Asked struct {
	File    string
	Leaf    string   // the entry at which the state is asked for; "": the file's last
	Entries []string // nil: every entry of the file
}

// Points says which snapshots belong to entries of a session file, the state at its
// leaf, and what it left for the child of its last fork to begin with: of each only
// what exists.
func (s *Sessions) Points(ctx context.Context, a Asked, exists func(oid.ID) bool) (at, pending ledger.Record, err error) {
	sessions := s.relatives(ctx)
	file, err := sessions.Open(a.File)
	if err != nil {
		return at, pending, err
	}
	for _, entry := range entriesOf(file, a.Entries) {
		if id, ok := sessions.Point(file, entry, exists); ok {
			at.Bindings = append(at.Bindings, ledger.Binding{Entry: entry, Snapshot: id})
		}
	}
	leaf := a.Leaf
	if last, ok := file.Leaf(); ok && leaf == "" {
		leaf = last.ID
	}
	state := file.State(leaf)
	at.Current, at.Undo = state.Current, state.Undo
	left, _ := file.Left()
	pending.Current, pending.Undo = left.Current, left.Undo
	for _, id := range []*oid.ID{&at.Current, &at.Undo, &pending.Current, &pending.Undo} {
		if !exists(*id) {
			*id = oid.ID{}
		}
	}
	return at, pending, ctx.Err()
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
