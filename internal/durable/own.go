package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/trust"
)

// ErrForeign is reported for what stands in the place of a file or directory of
// the program's own and is none: a link, a pipe, a file of another user. It was
// neither read nor written.
var ErrForeign = errors.New("not rewind's own, and left alone: move it away")

// The program's own files lie in directories that others may have prepared: a git
// directory comes out of an archive, or is shared. So each is reached through a
// handle of its directory. Neither the directory nor the file may be a link, and
// each belongs to the user, or to the owner of the directory that it lies in: that
// one was trusted before, or nothing below it would be looked at.

// OpenFile is [os.OpenFile] for a file of the program's own: it follows no link,
// waits for no pipe, and takes nobody else's file. Where perm closes a file to others,
// one that is there and its directory are closed too, whatever an archive brought.
func OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	d, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer d.done()
	f, err := d.open(filepath.Base(path), flag, perm)
	if err == nil && perm&others == 0 {
		d.close()
		tighten(path, f)
	}
	return f, named(err, path)
}

// ReadFile reads a file of the program's own that has at most so many bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var p bytes.Buffer
	if st, err := f.Stat(); err == nil {
		p.Grow(int(min(st.Size(), most)) + bytes.MinRead) // room to see the end
	}
	n, err := p.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && n > most {
		err = &fs.PathError{Op: "read", Path: path, Err: syscall.EFBIG}
	}
	return p.Bytes(), err
}

// Look returns what is known of a file of the program's own, or why it is not
// there or not its own. The file is not opened.
func Look(path string) (fs.FileInfo, error) {
	if _, err := ownDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return st, ours(path, st, around(path))
}

// MakeDir makes a directory for the program's own files, and those above it. One that
// is there is closed to others.
func MakeDir(path string) error {
	_, err := ownDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(path, 0o700); err == nil {
			_, err = ownDir(path)
		}
	}
	if err == nil {
		if d, err := openDir(path); err == nil {
			d.close()
			_ = d.done()
		}
	}
	return err
}

// others are the permission bits of everybody but the owner.
const others = 0o077

// tighten closes an open file of the user's to others. An archive brings its modes
// along, and what is the user's by ownership would be read or locked by anybody. Where
// the system cannot change modes they say nothing.
func tighten(path string, f *os.File) {
	if st, err := f.Stat(); err == nil && st.Mode()&others != 0 && trust.Owned(path, st) {
		_ = f.Chmod(st.Mode().Perm() &^ others)
	}
}

func (d *dir) close() {
	if d.info.Mode()&others == 0 {
		return
	}
	if f, err := d.root.Open("."); err == nil {
		tighten(d.root.Name(), f)
		_ = f.Close()
	}
}

// CheckDir returns nil for a directory in which the program's own files may lie,
// and [ErrForeign] for what is a link or another user's.
func CheckDir(path string) error {
	_, err := ownDir(path)
	return err
}

// CheckLinked is [CheckDir] for a directory in whose place the user may have put a
// link to another one of his, as git's directories of refs and objects.
func CheckLinked(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return owned(path, info, around(path))
}

// Remove removes a file of the program's own. What only stands in its place stays.
func Remove(path string) error {
	d, err := openDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.done()
	name := filepath.Base(path)
	if _, err = d.look(name); err == nil {
		err = d.root.Remove(name)
	}
	return named(err, path)
}

// A dir is an open directory of the program's own. It is kept when it is closed.
type dir struct {
	root *os.Root
	info fs.FileInfo
	path string
}

// openDir opens a directory, or takes up one that was kept. What is at the path now
// was looked at and judged in either case, and is the same as what is open.
func openDir(path string) (*dir, error) {
	info, err := ownDir(path)
	if err != nil {
		return nil, err
	}
	if d := kept.take(path); d != nil {
		if unchanged(d.info, info) {
			return d, nil
		}
		_ = d.root.Close()
	}
	return takeDir(path, info)
}

// done gives a directory back.
func (d *dir) done() error { return kept.keep(d) }

// A dirs keeps directories open from one use to the next: a turn opens the same one a
// dozen times, and each time takes three system calls more than a look whether it is
// still what was opened.
type dirs struct {
	mu   sync.Mutex
	idle []*dir
}

var kept dirs

// dirsMax is how many directories are kept, by all of the process.
const dirsMax = 8

func (k *dirs) take(path string) *dir {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, d := range k.idle {
		if d.path == path {
			k.idle = slices.Delete(k.idle, i, i+1)
			return d
		}
	}
	return nil
}

// keep keeps a directory. One that is open could not be removed on Windows.
func (k *dirs) keep(d *dir) error {
	if runtime.GOOS == "windows" {
		return d.root.Close()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle = append(k.idle, d)
	if len(k.idle) <= dirsMax {
		return nil
	}
	oldest := k.idle[0]
	k.idle = slices.Delete(k.idle, 0, 1)
	return oldest.root.Close()
}

// takeDir opens the directory that was looked at. The open one is judged again: an
// inode that is free may be given to another user's directory.
func takeDir(path string, info fs.FileInfo) (*dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	now, err := root.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = foreign(path, "it was replaced while it was opened")
	}
	if err == nil {
		err = owned(path, now, around(path))
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &dir{root, now, path}, nil
}

func ownDir(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, foreign(path, "it is "+kind(info.Mode())+", and not a directory")
	}
	return info, owned(path, info, around(path))
}

// around looks at the directory that a path lies in.
func around(path string) func() (fs.FileInfo, error) {
	return func() (fs.FileInfo, error) { return os.Stat(filepath.Dir(path)) }
}

// replacedOften is how often a file may be found replaced by another one while it
// is opened: processes of ours do so now and then.
const replacedOften = 100

func (d *dir) open(name string, flag int, perm os.FileMode) (*os.File, error) {
	const alone = os.O_CREATE | os.O_EXCL
	for try := 1; ; try++ {
		st, err := d.look(name)
		if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
			f, err := d.root.OpenFile(name, flag|alone, perm)
			if errors.Is(err, fs.ErrExist) && flag&alone != alone && try < replacedOften {
				continue
			}
			return f, err
		}
		if err != nil {
			return nil, err
		}
		if flag&alone == alone {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
		}
		f, err := d.take(name, st, flag&^alone, perm)
		if f != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if try == replacedOften {
			return nil, errors.Join(foreign(name, fmt.Sprintf("it was replaced %d times while it was opened", try)), err)
		}
	}
}

// take opens the file that was looked at, and returns nil if it is another one by now.
// The open file is judged again: an inode that is free may be given to another user's.
func (d *dir) take(name string, st fs.FileInfo, flag int, perm os.FileMode) (*os.File, error) {
	f, err := d.root.OpenFile(name, flag|unwaiting, perm)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && os.SameFile(st, now) {
		if err = d.judge(name, now); err == nil {
			return f, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// judge returns nil for a file that may be one of ours in the directory.
func (d *dir) judge(name string, st fs.FileInfo) error {
	return ours(name, st, func() (fs.FileInfo, error) { return d.info, nil })
}

// look returns what a file of ours is, without following a link.
func (d *dir) look(name string) (fs.FileInfo, error) {
	st, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	return st, d.judge(name, st)
}

// ours returns nil for a regular file whose owner may have such files here.
func ours(name string, st fs.FileInfo, above func() (fs.FileInfo, error)) error {
	if !st.Mode().IsRegular() {
		return foreign(name, "it is "+kind(st.Mode())+", and not a file")
	}
	return owned(name, st, above)
}

// kind says what stands in the place of a file.
func kind(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

func foreign(path, why string) error {
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%s; it is %w", why, ErrForeign)}
}

// named gives an error the whole path of the file.
func named(err error, path string) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: "open", Path: path, Err: at.Err}
	}
	return err
}
