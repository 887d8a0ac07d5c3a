// Package dirfd reaches the user's files through handles of open directories,
// so that no step of a walk or a restore follows a symbolic link or leaves the
// root, whatever other processes rename meanwhile.
//
// It promises: a path given to [Dir.OpenDir] names the directory that lies
// there by plain names only, or there is an error; a file is opened only if
// the name itself is that file, never what a link points to; and opening never
// blocks on a pipe. Crossing into another file system mounted below the root
// is allowed, as git allows it. It knows nothing of what is recorded.
//
// On Linux the kernel holds the promise (openat2(2), or one component at a
// time where openat2 is missing). On other systems the checks are made by
// name before each step and leave a moment in which another process may swap a
// directory for a link; dir_portable.go says so.
package dirfd

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ErrNotPlain is reported for a path that could lead somewhere else: an empty,
// "." or ".." component, a NUL byte, or a slash in a single name.
var ErrNotPlain = errors.New("not a plain name")

// A Stat is what the file system says of a file.
type Stat struct {
	Mode         tree.Mode // type and permission bits, with the numbers of stat(2)
	Size         int64     // bytes
	Mtime, Ctime int64     // nanoseconds since 1970; Ctime is 0 where the system has none
	Ino, Dev     uint64    // 0 where the system has none
	Nlink        uint32
	UID, GID     uint32
}

// Same reports whether two looks at a path saw the same unchanged file, as far
// as stat data can tell: type, permissions, inode, size and both times.
func (s *Stat) Same(o *Stat) bool {
	return s.Mode == o.Mode && s.Ino == o.Ino && s.Size == o.Size && s.Mtime == o.Mtime && s.Ctime == o.Ctime
}

// A Name is one entry of a directory listing. Type is 0 where the file system
// does not tell; then only a stat can.
type Name struct {
	Name string
	Type tree.Mode
}

// plain checks a single name.
func plain(name string) error {
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, 0) >= 0 || strings.IndexByte(name, '/') >= 0 {
		return ErrNotPlain
	}
	return nil
}

// plainPath checks a slash-separated path below a directory.
func plainPath(rel string) error {
	for rest, more := rel, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if err := plain(name); err != nil {
			return err
		}
	}
	return nil
}

func pathError(op, path string, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *fs.PathError: // the system's path says less than the name
		err = e.Err
	case *os.LinkError:
		err = e.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// Gone reports whether an error says that a path is not there (any more): it
// does not exist, or a directory on the way to it is none.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// A Writer is an answer to whether some process has a file open for writing, or mapped so.
type Writer uint8

const (
	// WriterUnknown says that the system does not say. The file may be somebody else's, or
	// the file system one of a network, of a program, or of others that it lies over.
	WriterUnknown Writer = iota
	// NoWriter says that none has, and whoever writes to the file from now on moves its times on
	// to what the clock shows then.
	NoWriter
	// SomeWriter has it open.
	SomeWriter
	// WriterInMemory is SomeWriter where pages are never written back.
	WriterInMemory
)
