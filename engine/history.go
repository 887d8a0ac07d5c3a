package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
)

// A historyRow says where a worktree's history is, so that nobody has to read
// every operation that was ever made: two stacks of operations, of which each
// names the one below it.
type historyRow struct {
	Birth string `json:"birth,omitempty"` // of the directory whose history it is
	Open  uint64 `json:"open,omitempty"`  // the operation that is unfinished
	Undo  uint64 `json:"undo,omitempty"`  // the one that undo takes back
	Redo  uint64 `json:"redo,omitempty"`  // the undo that redo takes back
}

// history is what undo and redo can take back.
type history struct {
	undo, redo *Operation // the newest of each; nil if there is none
	open       *Operation // unfinished, if any

	// strange is an unfinished operation that another directory of this name
	// left behind, one that was removed, or of which this is a copy.
	strange *Operation
}

// history reads the worktree's history.
func (e *Engine) history(ctx context.Context) (h history, err error) {
	err = e.view(ctx, func(v *cas.View) error {
		row, ok, err := readHistory(v, e.key)
		if err != nil {
			return err
		}
		if !ok {
			ops, err := operations(v, e.key)
			h = replay(ops)
			return err
		}
		if !sameBirth(row.Birth, e.birth) {
			h.strange, err = readOperation(v, row.Open)
			return err
		}
		for _, at := range []struct {
			seq uint64
			op  **Operation
		}{{row.Open, &h.open}, {row.Undo, &h.undo}, {row.Redo, &h.redo}} {
			if *at.op, err = readOperation(v, at.seq); err != nil {
				return err
			}
		}
		return nil
	})
	return h, err
}

// sameBirth reports whether two births may be of one directory. Where the system
// does not tell, and in what was recorded before births were, they are.
func sameBirth(a, b string) bool { return a == b || a == "" || b == "" }

func readHistory(v *cas.View, key string) (row historyRow, ok bool, err error) {
	value, err := v.Table(tableHistories).Value([]byte(key))
	if errors.Is(err, cas.ErrNotFound) {
		return row, false, nil
	}
	if err != nil {
		return row, false, err
	}
	if err := json.Unmarshal(value, &row); err != nil {
		return row, false, fmt.Errorf("%w: history of worktree %q: %w", ErrDamaged, key, err)
	}
	return row, true, nil
}

func (row historyRow) put(u *cas.Update, key string) error {
	value, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return u.Table(tableHistories).Put([]byte(key), value)
}

// bindHistory returns the history of this very directory, and makes sure that
// there is a row of it: made of the operations, where an earlier version has
// left none; empty, where the row is of another directory of this name, whose
// unfinished operation nobody will finish any more.
func (e *Engine) bindHistory(u *cas.Update) (historyRow, error) {
	row, ok, err := readHistory(&u.View, e.key)
	if err != nil || ok && row.Birth == e.birth {
		return row, err
	}
	switch {
	case !ok:
		row, err = e.stackUp(u)
	case !sameBirth(row.Birth, e.birth):
		err = e.giveUp(u, row.Open)
		row = historyRow{}
	}
	if err != nil {
		return row, err
	}
	if e.birth != "" {
		row.Birth = e.birth
	}
	return row, row.put(u, e.key)
}

// stackUp makes a row of operations that have none.
func (e *Engine) stackUp(u *cas.Update) (row historyRow, err error) {
	ops, err := operations(&u.View, e.key)
	if err != nil {
		return row, err
	}
	for _, op := range ops {
		if err := row.push(u, op); err != nil {
			return row, err
		}
		if op.Ended.IsZero() {
			row.Open = op.Seq
		}
	}
	return row, nil
}

// push takes an operation into the history, and writes it. A restore can be
// undone and ends what could be redone; an undo can be redone; a redo can be
// undone.
func (row *historyRow) push(u *cas.Update, op *Operation) error {
	from, to := (*uint64)(nil), &row.Undo
	switch op.Kind {
	case "undo":
		from, to = &row.Undo, &row.Redo
	case "redo":
		from = &row.Redo
	default:
		row.Redo = 0
	}
	if from != nil {
		taken, err := readOperation(&u.View, *from)
		if err != nil {
			return err
		}
		if *from = 0; taken != nil {
			*from = taken.Below
		}
	}
	below, err := readOperation(&u.View, *to)
	if err != nil {
		return err
	}
	if op.Below, op.Depth = 0, 1; below != nil {
		op.Below, op.Depth = below.Seq, below.Depth+1
	}
	*to = op.Seq
	return op.put(u)
}

// giveUp ends an operation that nobody is to finish, if there is one.
func (e *Engine) giveUp(u *cas.Update, seq uint64) error {
	op, err := readOperation(&u.View, seq)
	if err != nil || op == nil || !op.Ended.IsZero() {
		return err
	}
	op.Ended, op.Partial = e.now(), true
	return op.put(u)
}

// readOperation returns the operation with a number, nil for none.
func readOperation(v *cas.View, seq uint64) (*Operation, error) {
	if seq == 0 {
		return nil, nil
	}
	value, err := v.Table(tableOperations).Value(seqKey(seq))
	if err != nil {
		return nil, fmt.Errorf("%w: operation %d: %w", ErrDamaged, seq, err)
	}
	return decodeOperation(seqKey(seq), value)
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

// wantedOperations returns the operations of a worktree that undo, redo or
// recovery may still want.
func wantedOperations(v *cas.View, key string) (ops []*Operation, err error) {
	row, ok, err := readHistory(v, key)
	if err != nil {
		return nil, err
	}
	if !ok {
		all, err := operations(v, key)
		return stacks(all), err
	}
	for _, top := range []uint64{row.Undo, row.Redo} {
		for seq := top; seq != 0; {
			op, err := readOperation(v, seq)
			if err != nil {
				return nil, err
			}
			ops, seq = append(ops, op), op.Below
		}
	}
	open, err := readOperation(v, row.Open)
	if open != nil {
		ops = append(ops, open)
	}
	return ops, err
}

// strangeError says of an unfinished operation of another directory that it is
// left alone, nil if there is none.
func (h history) strangeError() error {
	if h.strange == nil {
		return nil
	}
	return fmt.Errorf("a %s %w in another directory that had this name, or of which this is a copy: it is left alone here", h.strange.Kind, ErrUnfinished)
}
