// Package regular opens files that somebody else made: those of a repository,
// which may be anybody's, and of the user's home.
//
// It promises: opening never waits for long, what is opened is a regular file, and what
// is read whole has a bound. A pipe, which would wait for ever, a device, whose
// opening may do something, and a file that claims to have terabytes are errors.
// Symbolic links are followed, as git follows them. A file system that hangs is
// beyond it. It knows nothing of what the files are.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrIrregular is reported for a pipe, a socket or a device. A directory is
// [syscall.EISDIR].
var ErrIrregular = errors.New("not a regular file")

// ErrLarge is reported by [Read] for a file that is larger than the caller
// believes.
var ErrLarge = errors.New("too large to be what it should be")

// A lease is waited for so long, 2 s.
const (
	leaseTries = 100
	leaseStep  = 20 * time.Millisecond
)

// Open opens a file for reading.
func Open(path string) (*os.File, error) {
	f, _, err := openFile(path, os.O_RDONLY, 0)
	return f, err
}

// openFile is [os.OpenFile] for regular files.
func openFile(path string, flags int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	st, err := os.Stat(path) // before it is opened: that alone may set a device going
	return openLooked(looked{path, st, err}, flags, perm)
}

// A looked is a path and what was found there.
type looked struct {
	path string
	st   fs.FileInfo
	err  error
}

// openLooked opens what was looked at.
func openLooked(l looked, flags int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	path, st, err := l.path, l.st, l.err
	if err == nil {
		err = check(path, st)
	}
	if err != nil && (flags&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, flags|unwaiting, perm)
	for tries := 0; errors.Is(err, syscall.EAGAIN) && tries < leaseTries; tries++ {
		time.Sleep(leaseStep) // somebody has a lease on it (fcntl(2)), and is asked to give it up
		f, err = os.OpenFile(path, flags|unwaiting, perm)
	}
	if err != nil {
		return nil, nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = check(path, st) // another one may have come in its place
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, st, nil
}

func check(path string, st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case !st.Mode().IsRegular():
		return &fs.PathError{Op: "open", Path: path, Err: ErrIrregular}
	}
	return nil
}

// Read reads a whole file of at most so many bytes. A small one that was read before,
// and shows no change since, is not opened again.
func Read(path string, most int64) ([]byte, error) {
	st, err := os.Stat(path)
	if err == nil {
		if text, ok := remembered.text(path, st); ok && int64(len(text)) <= most {
			return text, nil
		}
	}
	before := time.Now()
	f, st, err := openLooked(looked{path, st, err}, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAll(f, path, st.Size(), most)
	if err == nil {
		remembered.keep(path, st, text, before)
	}
	return text, err
}

func readAll(f *os.File, path string, size, most int64) ([]byte, error) {
	large := func() error {
		return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", ErrLarge, most)}
	}
	if size > most {
		return nil, large()
	}
	p := make([]byte, 0, max(512, size+1)) // one more, to see the end
	for {
		if len(p) == cap(p) {
			p = append(p, 0)[:len(p)]
		}
		n, err := f.Read(p[len(p):cap(p)])
		p = p[:len(p)+n]
		switch {
		case int64(len(p)) > most:
			return nil, large()
		case err == io.EOF:
			return p, nil
		case err != nil:
			return nil, err
		}
	}
}
