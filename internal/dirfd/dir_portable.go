//go:build !linux

package dirfd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// The file types that stat(2) knows and a recorded tree does not.
const (
	fifo   tree.Mode = 0010000
	char   tree.Mode = 0020000
	block  tree.Mode = 0060000
	socket tree.Mode = 0140000
)

// A Dir is a directory. It is safe for concurrent use; whoever opened it
// closes it, once, after the last use.
//
// On this system it is a path that was checked by name, not a handle. Each
// method checks again that the path is still a directory and no link, but
// between that check and the step itself another process can swap it: here
// the package guards against links that are there, not against a race.
type Dir struct {
	path string
	root bool // of no use here
}

// Open opens the directory at a path of the system, which may lead through
// symbolic links: the caller decided that this is the root.
func Open(path string) (*Dir, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	d := &Dir{path: verbatim(real)}
	return d, d.check()
}

// OpenDir opens the directory at a slash-separated path below d. No component
// may be a symbolic link, "." or "..".
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	if err := plainPath(rel); err != nil {
		return nil, pathError("open", rel, err)
	}
	at := d
	for rest, more := rel, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		below, err := at.below(name)
		if err == nil {
			at = &Dir{path: below}
			err = at.check()
		}
		if err == nil {
			err = exactly(below, name)
		}
		if err != nil {
			return nil, pathError("open", rel, err)
		}
	}
	return at, nil
}

// check makes sure that the path is a directory and no link.
func (d *Dir) check() error {
	st, err := lstat(d.path)
	if err != nil {
		return err
	}
	if st.Mode.Type() != tree.Dir {
		return syscall.ENOTDIR
	}
	return nil
}

// below is the system's path of a plain name.
func (d *Dir) below(name string) (string, error) {
	if err := plain(name); err != nil {
		return "", err
	}
	if !nameable(name) {
		return "", fmt.Errorf("%w: this system has no such names", ErrNotPlain)
	}
	const separator = string(filepath.Separator)
	return strings.TrimSuffix(d.path, separator) + separator + name, nil
}

// at returns the system's path of a name, after the check.
func (d *Dir) at(op, name string) (string, error) {
	path, err := d.below(name)
	if err == nil {
		err = d.check()
	}
	return path, pathError(op, name, err)
}

// Stat returns the stat data of the directory itself.
func (d *Dir) Stat() (Stat, error) {
	st, err := lstat(d.path)
	return st, pathError("stat", ".", err)
}

// Lstat returns the stat data of what lies under a name; a link is not
// followed.
func (d *Dir) Lstat(name string) (Stat, error) {
	path, err := d.below(name)
	var st Stat
	if err == nil {
		st, err = lstat(path)
	}
	if err == nil {
		err = exactly(path, name)
	}
	if err != nil {
		return Stat{}, pathError("lstat", name, err)
	}
	return st, nil
}

// LstatRaw is [Dir.Lstat] for a NUL-terminated name that the caller knows to
// be plain.
func (d *Dir) LstatRaw(name *byte, st *Stat) error {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(name), n)) != 0 {
		n++
	}
	path, err := d.below(string(unsafe.Slice(name, n)))
	if err == nil {
		*st, err = lstat(path)
	}
	return err
}

// Quick says that a look at a name in d waits for a disk of this machine at
// most. It makes no difference here.
func (d *Dir) Quick() {}

// Search returns an error if names cannot be looked up in the directory: with
// the permission to read alone it can be listed, and no more.
func (d *Dir) Search() error {
	_, err := os.Lstat(d.path + string(filepath.Separator) + ".")
	return err
}

// List returns the names in the directory, without "." and "..".
func (d *Dir) List() ([]Name, error) {
	if err := d.check(); err != nil {
		return nil, pathError("list", ".", err)
	}
	list, err := os.ReadDir(d.path)
	if err != nil {
		return nil, pathError("list", ".", err)
	}
	out := make([]Name, len(list))
	for i, e := range list {
		out[i] = Name{Name: e.Name(), Type: fileType(e.Type())}
	}
	return out, nil
}

// Readlink returns the target of the symbolic link under a name.
func (d *Dir) Readlink(name string) (string, error) {
	path, err := d.at("readlink", name)
	if err != nil {
		return "", err
	}
	target, err := os.Readlink(path)
	return filepath.ToSlash(target), pathError("readlink", name, err)
}

// Local reports whether the directory lies on a file system whose timestamps
// are fine and made by this machine's clock. Not known here.
func (d *Dir) Local() bool { return false }

// Tells reports whether [NoWriter] may be the answer for a file on its file system.
func (d *Dir) Tells() bool { return false }

// Close closes the handle.
func (d *Dir) Close() error { return nil }

// A File is an open regular file, for reading, by one goroutine.
type File struct{ f *os.File }

// OpenFile opens the file under a name for reading. A symbolic link is an
// error, and so is whatever is no regular file, which could block.
func (d *Dir) OpenFile(name string) (*File, error) {
	path, err := d.at("open", name)
	if err != nil {
		return nil, err
	}
	before, err := lstat(path)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	if before.Mode.Type() != tree.File {
		return nil, pathError("open", name, syscall.ELOOP)
	}
	f, err := openShared(path)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	if after, err := fstat(f); err != nil || before.Ino != after.Ino || before.Dev != after.Dev {
		f.Close()
		return nil, pathError("open", name, syscall.ELOOP)
	}
	return &File{f: f}, nil
}

// Stat returns the stat data of the open file.
func (f *File) Stat() (Stat, error) {
	return fstat(f.f)
}

// Read implements [io.Reader].
func (f *File) Read(p []byte) (int, error) { return f.f.Read(p) }

// Data returns the bytes of the file behind an offset: where it has holes is not known
// on this system.
func (f *File) Data(off int64) (from, to int64, err error) {
	st, err := f.Stat()
	return min(off, st.Size), st.Size, err
}

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Shares reports whether a file in a directory could share the content of this one. On
// this system none can.
func (f *File) Shares(string) bool { return false }

// Writer reports whether some process has the file open for writing. This system does
// not say.
func (f *File) Writer() Writer { return WriterUnknown }

// Rewind goes back to the first byte.
func (f *File) Rewind() error {
	_, err := f.f.Seek(0, io.SeekStart)
	return err
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// fileType turns the type bits of Go into those of stat(2).
func fileType(m os.FileMode) tree.Mode {
	switch {
	case m&os.ModeDir != 0:
		return tree.Dir
	case m&os.ModeSymlink != 0:
		return tree.Symlink
	case m&os.ModeNamedPipe != 0:
		return fifo
	case m&os.ModeSocket != 0:
		return socket
	case m&os.ModeCharDevice != 0:
		return char
	case m&os.ModeDevice != 0:
		return block
	case m&os.ModeIrregular != 0:
		return char // of no type we could record
	}
	return tree.File
}
