package records

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
)

// A History is what undo and redo can take back.
type History struct {
	Undo, Redo *Operation // the newest of each; nil if there is none
	Open       *Operation // unfinished, if any
	Moves      uint64     // how often an operation has begun or ended

	Bisect *bisect // that stands open; nil: none does

	// Strange is an unfinished operation that was not begun in this directory.
	// It was begun in one that had this name and was removed, or in one of
	// which this is a copy; or nobody wrote down where.
	Strange *Operation
}

// History returns the owner's history.
func (v *View) History() (h History, err error) {
	row, ok, err := v.historyRow(v.owner.Key)
	if err != nil || !ok {
		return h, err
	}
	whom := v.madeFor(row.Birth)
	if whom == forAnother { // its stacks are none of ours
		row.Undo, row.Redo, row.Bisect = 0, 0, nil
	}
	h.Bisect, h.Moves = row.Bisect, row.Moves
	for _, at := range []struct {
		seq uint64
		op  **Operation
	}{{row.Open, &h.Open}, {row.Undo, &h.Undo}, {row.Redo, &h.Redo}} {
		if *at.op, err = v.Operation(at.seq); err != nil {
			return History{}, err
		}
	}
	return h.of(whom), nil
}

// Begin takes a new operation into the owner's history, as the one that is
// unfinished. An undo is about to take back what was left unfinished before;
// whatever else begins has finished that first.
func (u *Update) Begin(op *Operation) error {
	row, err := u.bindHistory()
	if err != nil {
		return err
	}
	if err := u.giveUp(row.Open); err != nil {
		return err
	}
	w, _, err := u.Worktree()
	if err != nil {
		return err
	}
	op.Stood, op.InBisect = w.At, row.Bisect != nil
	if op.Seq, err = u.Table(tableOperations).Append(nil); err != nil {
		return err
	}
	if err := u.push(&row, op); err != nil {
		return err
	}
	row.Open = op.Seq
	row.Moves++
	return u.putHistory(u.owner.Key, row)
}

// End says that an operation is done; partial: not all of it. There is where it found
// already what it was to bring.
func (u *Update) End(seq uint64, partial bool, there ...Path) error {
	row, err := u.bindHistory()
	if err != nil {
		return err
	}
	if row.Open == seq {
		row.Open = 0
	}
	row.Moves++
	now, err := u.Operation(seq) // a purge may have given its snapshots other ids
	if err != nil {
		return err
	}
	now.Ended, now.Partial, now.There, now.Contents = u.owner.Now(), partial, there, nil
	return errors.Join(u.putOperation(now), u.putHistory(u.owner.Key, row), u.arrive(now))
}

// GiveUpAll ends the unfinished operations of all worktrees.
func (u *Update) GiveUpAll() error {
	var open []uint64
	for op, err := range u.operations() {
		if err != nil {
			return err
		}
		if op.Ended.IsZero() {
			open = append(open, op.Seq)
		}
	}
	for _, seq := range open {
		if err := u.giveUp(seq); err != nil {
			return err
		}
	}
	rows := map[string]historyRow{}
	for key := range u.Table(tableHistories).All() {
		row, _, err := u.historyRow(string(key))
		if err != nil {
			return err
		}
		row.Open = 0
		rows[string(key)] = row
	}
	for key, row := range rows {
		if err := u.putHistory(key, row); err != nil {
			return err
		}
	}
	return nil
}

// Wanted returns the operations of a worktree that undo, redo or recovery may
// still want.
func (v *View) Wanted(key string) (ops []*Operation, err error) {
	row, _, err := v.historyRow(key)
	if err != nil {
		return nil, err
	}
	tops := []uint64{row.Undo, row.Redo}
	if a := row.Bisect; a != nil { // what undo and redo will be again
		ops, tops = append(ops, &Operation{From: a.Home, To: a.Home}), append(tops, a.Undo, a.Redo)
	}
	for _, top := range tops {
		for seq := top; seq != 0; {
			op, err := v.Operation(seq)
			if err != nil {
				return nil, err
			}
			ops, seq = append(ops, op), op.Below
		}
	}
	open, err := v.Operation(row.Open)
	if open != nil {
		ops = append(ops, open)
	}
	return ops, err
}

// A historyRow says where a worktree's history is, so that nobody has to read
// every operation that was ever made: two stacks of operations, of which each
// names the one below it.
type historyRow struct {
	Birth  string  `json:"birth,omitempty"`  // of the directory whose history it is
	Open   uint64  `json:"open,omitempty"`   // the operation that is unfinished
	Undo   uint64  `json:"undo,omitempty"`   // the one that undo takes back
	Redo   uint64  `json:"redo,omitempty"`   // the undo that redo takes back
	Bisect *bisect `json:"bisect,omitempty"` // that stands open
	Moves  uint64  `json:"moves,omitempty"`  // how often an operation has begun or ended
}

func (v *View) historyRow(key string) (row historyRow, ok bool, err error) {
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

func (u *Update) putHistory(key string, row historyRow) error {
	value, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return u.put(tableHistories, []byte(key), value)
}

// push takes an operation into the history, and writes it. A restore can be
// undone and ends what could be redone; an undo can be redone; a redo can be
// undone.
func (u *Update) push(row *historyRow, op *Operation) error {
	from, to := (*uint64)(nil), &row.Undo
	switch op.Kind {
	case KindUndo:
		from, to = &row.Undo, &row.Redo
	case KindRedo:
		from = &row.Redo
	default:
		row.Redo = 0
	}
	if from != nil {
		taken, err := u.Operation(*from)
		if err != nil {
			return err
		}
		if *from = 0; taken != nil {
			*from = taken.Below
		}
	}
	below, err := u.Operation(*to)
	if err != nil {
		return err
	}
	if op.Below, op.Depth = 0, 1; below != nil {
		op.Below, op.Depth = below.Seq, below.Depth+1
	}
	*to = op.Seq
	return u.putOperation(op)
}
