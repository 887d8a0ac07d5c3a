//go:build unix

package dirfd

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ReadersOf returns who may come to read git's objects, which lie in a directory that is
// absolute. Only the directories above the repository count, which the user or root has
// closed: what lies in it is written anew with other permissions, by a collection under
// another umask or where the project is opened later. Where it cannot be found out
// everybody counts as a reader.
func ReadersOf(objects string) *Readers {
	r := Everybody()
	real, err := filepath.EvalSymlinks(objects)
	if err != nil {
		return r
	}
	at := repositoryAround(real)
	r.through = []string{at}
	for at != filepath.Dir(at) {
		at = filepath.Dir(at)
		var st unix.Stat_t
		if err := unix.Stat(at, &st); err != nil {
			return Everybody()
		}
		r.through = append(r.through, at)
		if st.Uid != 0 && int(st.Uid) != os.Geteuid() || st.Mode&groupEnters != 0 && hasACL(at) {
			continue // it is closed to others than one believes
		}
		if r.enter(&Stat{Mode: tree.Mode(st.Mode), GID: st.Gid}); !r.someone {
			return r
		}
	}
	return r
}

// repositoryAround returns the directory of the outermost repository that objects lie
// in: that of a ".git", or a bare one.
func repositoryAround(objects string) string {
	top := filepath.Dir(objects)
	for at := top; at != filepath.Dir(at); at = filepath.Dir(at) {
		if filepath.Base(at) == ".git" {
			top = filepath.Dir(at)
		}
	}
	return top
}

// hasACL reports whether an access control list may let more enter than the group.
func hasACL(path string) bool {
	n, err := unix.Getxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// KeptOffPath reports whether one of the readers may not enter a directory, which
// is absolute, or one above it.
func (r *Readers) KeptOffPath(dir string) bool {
	if r == nil || !r.someone {
		return false
	}
	for at := dir; !slices.Contains(r.through, at); at = filepath.Dir(at) {
		if st, err := statOf(at); err != nil || r.KeptOff(&st) {
			return true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}

func statOf(path string) (Stat, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return Stat{Mode: tree.Mode(st.Mode), GID: st.Gid}, pathError("stat", path, err)
}
