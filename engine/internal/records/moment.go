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
// takes a restore back stands where he stood before it.
func (u *Update) arrive(op *Operation) error {
	if !op.leads() {
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

// leads reports whether the files stand elsewhere after an operation. One on some
// paths leads nowhere: most files stay where they are. So does a merge.
func (op *Operation) leads() bool {
	return len(op.Paths) == 0 && (op.Kind == KindRestore || op.Kind == KindUndo || op.Kind == KindRedo)
}

// Operations returns the newest operations of the owner, at most so many (0:
// all), newest first, but for those that were begun during a bisect.
func (v *View) Operations(limit int) (ops []*Operation, err error) {
	for op, err := range v.operations() {
		if err != nil {
			return nil, err
		}
		if op.Where != v.owner.Key || op.InBisect {
			continue
		}
		if ops = append(ops, op); len(ops) == limit {
			break
		}
	}
	return ops, nil
}
