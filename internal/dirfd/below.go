package dirfd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"unicode"

	"github.com/seed-82afce7a/rewind/internal/tree"
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

// StatDir looks at the directory at a path of the system.
func StatDir(path string) (Stat, error) {
	d, err := Open(path)
	if err != nil {
		return Stat{}, err
	}
	defer d.Close()
	return d.Stat()
}

// Unseen is the mode of what cannot be looked at, so that nobody can tell whether it is there.
const Unseen tree.Mode = 0o170000

// Lstat looks at a path below a root; false if nothing is there, or the mode is [Unseen].
func Lstat(root, rel string) (st Stat, ok bool) {
	dir, err := OpenBelow(root, tree.Parent(rel))
	if err == nil {
		defer dir.Close()
		st, err = dir.Lstat(path.Base(rel))
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) {
		st.Mode = Unseen
	}
	return st, err == nil
}

// OtherCase is a name with its capital letters small and the others capital. Where both
// lead to one file the file system takes names that differ in case for one.
func OtherCase(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, name)
}

// SameDir reports whether two names lead to one directory. What [Real] resolves is followed.
func SameDir(a, b string) bool {
	if a == b {
		return true
	}
	realA, errA := Real(a)
	realB, errB := Real(b)
	return errA == nil && errB == nil && realA == realB
}

// OpenFileBelow opens a file below a root for reading.
func OpenFileBelow(root, rel string) (*File, error) {
	at, err := OpenBelow(root, tree.Parent(rel))
	if err != nil {
		return nil, err
	}
	defer at.Close()
	return at.OpenFile(path.Base(rel))
}

// ReadBelow reads a file below a root, or the target of a link. Not whole: it is longer
// than max, and these are its first bytes.
func ReadBelow(root, rel string, link bool, max int) (data []byte, whole bool, err error) {
	if link {
		at, err := OpenBelow(root, tree.Parent(rel))
		if err != nil {
			return nil, false, err
		}
		defer at.Close()
		target, err := at.Readlink(path.Base(rel))
		return []byte(target), true, err
	}
	f, err := OpenFileBelow(root, rel)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Mode.Type() != tree.File {
		return nil, false, errors.Join(err, fmt.Errorf("%q is no file any more", rel))
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(max)+1))
	return data[:min(len(data), max)], len(data) <= max, err
}
