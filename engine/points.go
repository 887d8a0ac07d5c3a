package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// Points reads a Pi session file and, for entries that it does not bind, the
// sessions it was forked from. At says which snapshots belong to the given
// entries (nil: to every entry of the file), and the files and the way back
// from the last restore on the branch of leaf ("": of the file's last entry);
// pending what the session left for the child of its last fork to begin with.
// A parent whose file was moved is found in the directories of known agents.
// Only snapshots that can be restored are named. The file may be open in Pi;
// what Pi has not written yet is not seen.
func (e *Engine) Points(ctx context.Context, file, leaf string, entries []string) (at, pending ledger.Record, err error) {
	f := e.lookup.Finder()
	return e.sessions().Points(ctx, retention.Asked{File: file, Leaf: leaf, Entries: entries}, func(id oid.ID) bool { return f.Exists(ctx, id) })
}

// Existing returns those of the ids that name a snapshot which can be
// restored, in their order.
func (e *Engine) Existing(ctx context.Context, ids []ID) ([]ID, error) {
	out, f := []oid.ID{}, e.lookup.Finder()
	for _, id := range ids {
		if f.Exists(ctx, id) {
			out = append(out, id)
		}
	}
	return out, ctx.Err()
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
