package records

import (
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Stand says that the owner's files stand at a snapshot now; zero: at the newest
// that was recorded on purpose.
func (u *Update) Stand(id oid.ID) error {
	w, ok, err := u.Worktree()
	if err != nil || !ok || w.At == id {
		return err
	}
	w.At = id
	return u.putWorktree(u.owner.Key, w)
}

// arrive says where the owner's files stand when an operation is done. Whoever
// takes a restore back stands where he stood before it. An operation on some
// paths leads nowhere: most files stay where they are.
func (u *Update) arrive(op *Operation) error {
	if len(op.Paths) > 0 {
		return nil
	}
	reverted, err := u.Operation(op.Reverts)
	if err != nil {
		return err
	}
	if reverted != nil {
		return u.Stand(reverted.Stood)
	}
	return u.Stand(op.To)
}

// Operations returns the newest operations of the owner, at most so many (0:
// all), newest first, but for those that were begun while the files were away.
func (v *View) Operations(limit int) (ops []*Operation, err error) {
	for key, value := range v.Table(tableOperations).Backward() {
		op, err := decodeOperation(key, value)
		if err != nil {
			return nil, err
		}
		if op.Where != v.owner.Key || op.Away {
			continue
		}
		if ops = append(ops, op); len(ops) == limit {
			break
		}
	}
	return ops, nil
}
