package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An Operation is a restore, an undo or a redo: the durable history of what
// rewind itself did to a worktree.
type Operation struct {
	Seq     uint64    `json:"seq"`
	Kind    string    `json:"kind"`              // "restore", "undo" or "redo"
	Where   string    `json:"worktree"`          // key of the worktree
	From    oid.ID    `json:"from"`              // the snapshot taken just before
	To      oid.ID    `json:"to"`                // the snapshot that was restored
	Paths   []Path    `json:"paths,omitempty"`   // limited to these patterns; empty: everything
	Reverts uint64    `json:"reverts,omitempty"` // the operation that an undo or redo takes back
	Plan    oid.ID    `json:"plan"`              // blob: the steps in JSON
	Key     string    `json:"key"`               // in the names of its temporary files
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero: unfinished
	Partial bool      `json:"partial,omitempty"`
}

// The tables of the store.
const (
	tableSnapshots  = "snapshots"    // sequence → Snapshot
	tableByID       = "snapshot-ids" // id → sequence
	tableOperations = "operations"   // sequence → Operation
	tableWorktrees  = "worktrees"    // key → worktree
	tablePending    = "pending"      // sequence → id of a snapshot that may not be in git yet
	tablePins       = "pins"         // name → snapshot id
	tableDropped    = "dropped"      // id of a snapshot that the store dropped and the ref still has
	tableRenamed    = "renamed"      // id that a snapshot had before a purge → its id now
	tableNotices    = "notices"      // what was said once → when and of what
	tableLost       = "lost"         // id of a snapshot that is not whole any more → why
	tablePlaces     = "places"       // directory in which an agent's sessions lie → what it is
)

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// operations returns the operations of the worktree with this key, oldest first.
func operations(v *cas.View, where string) ([]*Operation, error) {
	var ops []*Operation
	for key, value := range v.Table(tableOperations).All() {
		op := new(Operation)
		if err := json.Unmarshal(value, op); err != nil || len(key) != 8 {
			return nil, fmt.Errorf("%w: operation record %x", ErrDamaged, key)
		}
		op.Seq = binary.BigEndian.Uint64(key)
		if op.Where == where {
			ops = append(ops, op)
		}
	}
	return ops, nil
}

// history is what undo and redo can take back, newest last.
type history struct {
	undo, redo []*Operation
	open       *Operation // unfinished, if any
}

// replay derives the history from the operations. A restore can be undone and
// ends what could be redone; an undo can be redone; a redo can be undone.
func replay(ops []*Operation) history {
	var h history
	for _, op := range ops {
		if op.Ended.IsZero() {
			h.open = op
		}
		switch op.Kind {
		case "undo":
			h.undo = dropLast(h.undo)
			h.redo = append(h.redo, op)
		case "redo":
			h.redo = dropLast(h.redo)
			h.undo = append(h.undo, op)
		default:
			h.undo = append(h.undo, op)
			h.redo = nil
		}
	}
	return h
}

// needed returns the operations that undo, redo or recovery may still want.
func (h history) needed() []*Operation {
	ops := append(slices.Clone(h.undo), h.redo...)
	if h.open != nil {
		ops = append(ops, h.open)
	}
	return ops
}

func dropLast(ops []*Operation) []*Operation {
	if len(ops) == 0 {
		return nil
	}
	return ops[:len(ops)-1]
}

// history reads the worktree's history.
func (e *Engine) history(ctx context.Context) (h history, err error) {
	s := e.opened()
	if s == nil {
		return h, nil
	}
	err = s.View(ctx, func(v *cas.View) error {
		ops, err := operations(v, e.key)
		h = replay(ops)
		return err
	})
	return h, storeError(err)
}

// put writes an operation back.
func (op *Operation) put(u *cas.Update) error {
	value, err := json.Marshal(op)
	if err != nil {
		return err
	}
	return u.Table(tableOperations).Put(seqKey(op.Seq), value)
}
