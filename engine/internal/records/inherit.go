package records

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Inherit gives the owner what undo and redo take back elsewhere, each with its top first, if he has no such history of
// his own. One whose snapshot is not here ends it: what lies below is left out.
func (u *Update) Inherit(undo, redo []*Operation) error {
	row, err := u.bindHistory()
	if err != nil || row.Undo != 0 || row.Redo != 0 || row.Open != 0 || row.Bisect != nil {
		return err
	}
	below := map[*Operation]*Operation{}
	var all []*Operation
	for _, stack := range []*[]*Operation{&undo, &redo} {
		for i, op := range *stack {
			if here, err := u.Recorded(op.From); err != nil {
				return err
			} else if !here {
				*stack = (*stack)[:i]
				break
			}
			if i > 0 {
				below[(*stack)[i-1]] = op
			}
		}
		all = append(all, *stack...)
	}
	slices.SortStableFunc(all, func(a, b *Operation) int { return a.Started.Compare(b.Started) })
	for _, op := range all {
		if err := u.inherit(op, below[op]); err != nil {
			return err
		}
	}
	row.Undo, row.Redo = topOf(undo), topOf(redo)
	row.Moves++
	return u.putHistory(u.owner.Key, row)
}

func topOf(stack []*Operation) uint64 {
	if len(stack) == 0 {
		return 0
	}
	return stack[0].Seq
}

// inherit writes an operation that has ended elsewhere. What lies below it is left out where that is not written yet:
// nobody began it first.
func (u *Update) inherit(op, below *Operation) (err error) {
	op.Where, op.Brought, op.Depth = u.owner.Key, true, 1
	if op.Ended.IsZero() {
		op.Ended, op.Partial = op.Started, true
	}
	if !op.Stood.IsZero() {
		if here, err := u.Recorded(op.Stood); err != nil {
			return err
		} else if !here {
			op.Stood = oid.ID{}
		}
	}
	if below != nil && below.Seq != 0 {
		op.Below, op.Depth = below.Seq, below.Depth+1
	}
	if op.Seq, err = u.Table(tableOperations).Append(nil); err != nil {
		return err
	}
	return u.putOperation(op)
}
