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
	perhaps         // nothing but an inode tells, or nothing at all
	forAnother      // another directory, which had this name or of which this is a copy
)

// madeFor tells for whom something with a recorded birth was made. Where the system
// tells no more than an inode, or nothing, that is too little to write or remove a file
// by: who makes an archive can guess it.
func (v *View) madeFor(birth string) made {
	switch own := v.owner.Birth; {
	case own == "", birth == "", birth == own && onlyInodes(birth):
		return perhaps
	case birth == own:
		return forOwner
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

// of returns the part of a history that counts for the owner. What is
// unfinished counts only if it was begun in this very directory: to carry it
// out means to write files.
func (h History) of(whom made) History {
	switch whom {
	case forAnother:
		return History{Strange: h.Open}
	case perhaps:
		h.Open, h.Strange = nil, h.Open
	}
	return h
}

// bindHistory returns the history of this very directory, and makes sure that
// there is a row of it. Where the row is of another directory of this name, it
// makes an empty one. What is unfinished there and was not begun here, nobody
// will finish any more.
func (u *Update) bindHistory() (historyRow, error) {
	row, ok, err := u.historyRow(u.owner.Key)
	if err != nil || ok && row.Birth == u.owner.Birth && u.madeFor(row.Birth) == forOwner {
		return row, err
	}
	if whom := u.madeFor(row.Birth); ok && whom != forOwner {
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
