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
	"bytes"
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
	f, _, err := open(path)
	return f, err
}

func open(path string) (*os.File, fs.FileInfo, error) {
	st, err := os.Stat(path) // before it is opened: that alone may set a device going
	if err == nil {
		err = check(path, st)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := patiently(path, openToRead)
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

// patiently opens a file that another program may keep from everybody for a moment.
func patiently(path string, open func(string) (*os.File, error)) (*os.File, error) {
	f, err := open(path)
	for tries := 0; errors.Is(err, busy) && tries < leaseTries; tries++ {
		time.Sleep(leaseStep)
		f, err = open(path)
	}
	return f, err
}

// Sync makes a file durable that somebody else wrote.
func Sync(path string) error {
	f, err := openToSync(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
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

// Read reads a whole file of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, st, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	large := &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", ErrLarge, most)}
	if st.Size() > most {
		return nil, large
	}
	text := bytes.NewBuffer(make([]byte, 0, st.Size()+bytes.MinRead)) // room to see the end
	if _, err := text.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, err
	}
	if int64(text.Len()) > most {
		return nil, large
	}
	return text.Bytes(), nil
}
