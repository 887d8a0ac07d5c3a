package dirfd

import (
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Permission bits of a group and of everybody else.
const (
	groupReads, othersRead   = 0o040, 0o004
	groupEnters, othersEnter = 0o010, 0o001
)

// Readers are the users, besides the owner, who may read what is put into a
// place. The zero value, like nil, is nobody.
type Readers struct {
	someone bool
	all     bool     // not only members of groups
	groups  []uint32 // all of them are members of each
	through []string // the directories above the place, which keep off nobody else
}

// Everybody is who reads what lies in a place that others can reach, or of which that
// is not known.
func Everybody() *Readers { return &Readers{someone: true, all: true} }

// enter leaves those who may enter a directory.
func (r *Readers) enter(st *Stat) {
	switch st.Mode & (groupEnters | othersEnter) {
	case 0:
		*r = Readers{}
	case groupEnters:
		r.members(st.GID)
	}
}

func (r *Readers) members(group uint32) {
	r.all, r.groups = false, append(r.groups, group)
}

// KeptOff reports whether one of the readers may not read a file, or may not
// enter a directory.
func (r *Readers) KeptOff(st *Stat) bool {
	group, others := tree.Mode(groupReads), tree.Mode(othersRead)
	switch st.Mode.Type() {
	case tree.Dir:
		group, others = groupEnters, othersEnter
	case tree.Symlink:
		return false // whoever finds it may read it
	}
	switch {
	case r == nil || !r.someone || st.Mode&(group|others) == group|others:
		return false
	case !r.all && st.Mode&group != 0:
		return !slices.Contains(r.groups, st.GID)
	}
	return true
}

// Digest is equal for the same readers, and empty for nobody.
func (r *Readers) Digest() string {
	if r == nil || !r.someone {
		return ""
	}
	return fmt.Sprint(r.all, r.groups)
}
