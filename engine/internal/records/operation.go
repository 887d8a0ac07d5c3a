package records

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The kinds of operations, as their records name them. Any other is a merge, and says
// what it was asked for by.
const (
	KindRestore = "restore"
	KindUndo    = "undo"
	KindRedo    = "redo"
)

// An Operation is a restore, an undo, a redo or a merge: the durable history of what
// rewind itself did to a worktree.
type Operation struct {
	Seq     uint64 `json:"seq"`
	Kind    string `json:"kind"`
	Where   string `json:"worktree"`          // key of the worktree
	Below   uint64 `json:"below,omitempty"`   // what lies below it on the stack of undo or redo
	Depth   int    `json:"depth,omitempty"`   // how many it is from the bottom of that stack
	From    oid.ID `json:"from"`              // the snapshot taken just before
	To      oid.ID `json:"to"`                // the snapshot that was restored; of a merge, whose state was merged in last
	Stood   oid.ID `json:"stood,omitzero"`    // the snapshot at which the files stood before it
	Paths   []Path `json:"paths,omitempty"`   // limited to these patterns; empty: everything
	Reverts uint64 `json:"reverts,omitempty"` // the operation that an undo or redo takes back
	Plan    oid.ID `json:"plan"`              // blob: the steps in JSON
	Key     string `json:"key"`               // in the names of its temporary files

	// Contents are what its steps write and no snapshot has. They are held until it ends.
	Contents []oid.ID `json:"contents,omitempty"`

	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"` // zero: unfinished
	Partial  bool      `json:"partial,omitempty"`
	There    []Path    `json:"there,omitempty"`     // where somebody else had put what its steps were to put
	InBisect bool      `json:"in_bisect,omitempty"` // begun during a bisect: not to be seen in the history

	Brought bool   `json:"brought,omitempty"` // it was begun elsewhere, and came with a resume
	Beside  string `json:"beside,omitempty"`  // of such a one: the key of what lay on top of the other stack
}

// Operation returns the operation with a number, nil for 0.
func (v *View) Operation(seq uint64) (*Operation, error) {
	if seq == 0 {
		return nil, nil
	}
	value, err := v.Table(tableOperations).Value(seqKey(seq))
	if err != nil {
		return nil, fmt.Errorf("%w: operation %d: %w", ErrDamaged, seq, err)
	}
	return decodeOperation(seqKey(seq), value)
}

// operations yields the operations of all worktrees, newest first. After one that is
// damaged there are no more.
func (v *View) operations() iter.Seq2[*Operation, error] {
	return func(yield func(*Operation, error) bool) {
		for key, value := range v.Table(tableOperations).Backward() {
			if op, err := decodeOperation(key, value); !yield(op, err) || err != nil {
				return
			}
		}
	}
}

func decodeOperation(key, value []byte) (*Operation, error) {
	if len(key) != 8 {
		return nil, fmt.Errorf("%w: operation record %x", ErrDamaged, key)
	}
	op, seq := new(Operation), binary.BigEndian.Uint64(key)
	if err := json.Unmarshal(value, op); err != nil || op.Below >= seq && op.Below != 0 {
		return nil, fmt.Errorf("%w: operation record %x", ErrDamaged, key)
	}
	op.Seq = seq
	return op, nil
}

// putOperation writes an operation back.
func (u *Update) putOperation(op *Operation) error {
	value, err := json.Marshal(op)
	if err != nil {
		return err
	}
	return u.put(tableOperations, seqKey(op.Seq), value)
}

// giveUp ends an operation that nobody is to finish, if there is one.
func (u *Update) giveUp(seq uint64) error {
	op, err := u.Operation(seq)
	if err != nil || op == nil || !op.Ended.IsZero() {
		return err
	}
	op.Ended, op.Partial, op.Contents = u.owner.Now(), true, nil
	return u.putOperation(op)
}
