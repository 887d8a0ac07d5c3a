package dirfd

import (
	"path"
	"path/filepath"
)

// OpenBelow opens a directory below a root, "" for the root itself.
func OpenBelow(root, rel string) (*Dir, error) {
	at, err := Open(root)
	if err != nil || rel == "" {
		return at, err
	}
	defer at.Close()
	return at.OpenDir(rel)
}

// Lstat looks at a path below a root; false if nothing is there.
func Lstat(root, rel string) (st Stat, ok bool) {
	dir, err := OpenBelow(root, Parent(rel))
	if err != nil {
		return st, false
	}
	defer dir.Close()
	st, err = dir.Lstat(path.Base(rel))
	return st, err == nil
}

// Parent returns the directory of a path below a root, "" for the root itself.
func Parent(rel string) string {
	if dir := path.Dir(rel); dir != "." {
		return dir
	}
	return ""
}

// SameDir reports whether two names lead to one directory. Links are followed.
func SameDir(a, b string) bool {
	if a == b {
		return true
	}
	realA, errA := filepath.EvalSymlinks(a)
	realB, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && realA == realB
}
