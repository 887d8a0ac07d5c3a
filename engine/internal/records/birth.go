package records

import (
	"errors"
	"strings"
)

// What a store says of a worktree binds nobody elsewhere: a store may be copied,
// or come in an archive from somebody who wishes the user ill. So whatever leads
// to files being written or removed is bound to the birth of the directory,
// which no archive can bring along.

// BirthIn is between the birth of a git directory and that of its worktree.
const BirthIn = " in "

// A made says for whom something in the store was made.
type made int

const (
	forOwner   made = iota
	forInode        // a directory of the same inode, which may be another one
	forNobody       // an earlier version did not write that down
	forAnother      // another directory, which had this name or of which this is a copy
)

// madeFor tells for whom something with a recorded birth was made. It is the
// owner also where an earlier version recorded the birth of the same git
// directory alone. Where the system tells no more than an inode, or nothing, that
// is too little to write or remove a file by: who makes an archive can guess it.
func (v *View) madeFor(birth string) made {
	own := v.owner.Birth
	switch same := birth == own || birth != "" && strings.HasPrefix(own, birth+BirthIn); {
	case own == "", same && onlyInodes(birth):
		return forInode
	case same:
		return forOwner
	case birth == "":
		return forNobody
	}
	return forAnother
}

// onlyInodes reports whether each part of a birth is an inode (dirfd.Birth).
func onlyInodes(birth string) bool {
	for _, part := range strings.Split(birth, BirthIn) {
		if !strings.HasPrefix(part, "inode ") {
			return false
		}
	}
	return true
}

// historyOfOperations derives the history where an earlier version has left no
// row of it. The record of the worktree then says for which directory it is.
func (v *View) historyOfOperations() (h History, err error) {
	ops, err := v.operations(v.owner.Key)
	if err != nil || len(ops) == 0 {
		return h, err
	}
	w, _, err := v.worktree()
	if err != nil {
		return h, err
	}
	return replay(ops).of(v.madeFor(w.Birth)), nil
}

// of returns the part of a history that counts for the owner. What is
// unfinished counts only if it was begun in this very directory: to carry it
// out means to write files.
func (h History) of(whom made) History {
	switch whom {
	case forAnother:
		return History{Strange: h.Open}
	case forNobody, forInode:
		h.Open, h.Strange = nil, h.Open
	}
	return h
}

// bindHistory returns the history of this very directory, and makes sure that
// there is a row of it. Where an earlier version has left no row, it makes one
// of the operations. Where the row is of another directory of this name, it
// makes an empty one. What is unfinished there and was not begun here, nobody
// will finish any more.
func (u *Update) bindHistory() (historyRow, error) {
	row, ok, err := u.historyRow(u.owner.Key)
	if err != nil || ok && row.Birth == u.owner.Birth && u.madeFor(row.Birth) == forOwner {
		return row, err
	}
	birth := row.Birth
	if !ok {
		w, _, err := u.worktree()
		if err != nil {
			return row, err
		}
		birth = w.Birth
		if row, err = u.stackUp(); err != nil {
			return row, err
		}
	}
	if whom := u.madeFor(birth); whom != forOwner {
		err = errors.Join(u.giveUp(row.Open), u.Leftover(true, u.leftovers()...))
		if row.Open = 0; whom == forAnother {
			row = historyRow{}
		}
	}
	if err != nil {
		return row, err
	}
	if u.owner.Birth != "" {
		row.Birth = u.owner.Birth
	}
	return row, u.putHistory(u.owner.Key, row)
}
