package engine

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An Operation is a restore, an undo or a redo: the durable history of what
// rewind itself did to a worktree.
type Operation struct {
	Seq     uint64    `json:"seq"`
	Kind    string    `json:"kind"`              // "restore", "undo" or "redo"
	Where   string    `json:"worktree"`          // key of the worktree
	Below   uint64    `json:"below,omitempty"`   // what lies below it on the stack of undo or redo
	Depth   int       `json:"depth,omitempty"`   // how many it is from the bottom of that stack
	From    oid.ID    `json:"from"`              // the snapshot taken just before
	To      oid.ID    `json:"to"`                // the snapshot that was restored
	Paths   []Path    `json:"paths,omitempty"`   // limited to these patterns; empty: everything
	Reverts uint64    `json:"reverts,omitempty"` // the operation that an undo or redo takes back
	Plan    oid.ID    `json:"plan"`              // blob: the steps in JSON
	Key     string    `json:"key"`               // in the names of its temporary files
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero: unfinished
	Partial bool      `json:"partial,omitempty"`

	lock *durable.Held // the lock on the worktree's operations, while it is carried out
}

// The tables of the store.
const (
	tableSnapshots  = "snapshots"    // sequence → Snapshot
	tableByID       = "snapshot-ids" // id → sequence
	tableOperations = "operations"   // sequence → Operation
	tableHistories  = "histories"    // key of a worktree → historyRow
	tableWorktrees  = "worktrees"    // key → worktree
	tablePending    = "pending"      // sequence → id of a snapshot that may not be in git yet
	tablePins       = "pins"         // name → snapshot id
	tableDropped    = "dropped"      // id of a snapshot that the store dropped and the ref still has
	tableRenamed    = "renamed"      // id that a snapshot had before a purge → its id now
	tableNotices    = "notices"      // what was said once → when and of what
	tableLost       = "lost"         // id of a snapshot that is not whole any more → why
	tableLeftovers  = "leftovers"    // worktree and path of a temporary file that a restore could not remove → 1
	tablePlaces     = "places"       // directory in which an agent's sessions lie → what it is
)

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// operations returns the operations of the worktree with this key, oldest first.
// It reads all of them.
func operations(v *cas.View, where string) ([]*Operation, error) {
	var ops []*Operation
	for key, value := range v.Table(tableOperations).All() {
		op, err := decodeOperation(key, value)
		if err != nil {
			return nil, err
		}
		if op.Where == where {
			ops = append(ops, op)
		}
	}
	return ops, nil
}

// replay derives the history from the operations, where there is no row of it
// yet.
func replay(ops []*Operation) history {
	var h history
	undo, redo := replayed(ops)
	if n := len(undo); n > 0 {
		h.undo = undo[n-1]
		h.undo.Depth = n
	}
	if n := len(redo); n > 0 {
		h.redo = redo[n-1]
		h.redo.Depth = n
	}
	for _, op := range ops {
		if op.Ended.IsZero() {
			h.open = op
		}
	}
	return h
}

// stacks returns those of all operations that are on a stack, or unfinished.
func stacks(ops []*Operation) []*Operation {
	undo, redo := replayed(ops)
	out := append(undo, redo...)
	if h := replay(ops); h.open != nil {
		out = append(out, h.open)
	}
	return out
}

// replayed makes the stacks of undo and redo, as [historyRow.push] does.
func replayed(ops []*Operation) (undo, redo []*Operation) {
	for _, op := range ops {
		switch op.Kind {
		case "undo":
			undo, redo = dropLast(undo), append(redo, op)
		case "redo":
			redo, undo = dropLast(redo), append(undo, op)
		default:
			undo, redo = append(undo, op), nil
		}
	}
	return slices.Clone(undo), redo
}

func dropLast(ops []*Operation) []*Operation {
	if len(ops) == 0 {
		return nil
	}
	return ops[:len(ops)-1]
}

// put writes an operation back.
func (op *Operation) put(u *cas.Update) error {
	value, err := json.Marshal(op)
	if err != nil {
		return err
	}
	return u.Table(tableOperations).Put(seqKey(op.Seq), value)
}
