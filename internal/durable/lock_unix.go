//go:build unix

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock uses flock(2), whose locks belong to the open file description: they
// exclude the goroutines of one process too, unlike POSIX record locks.
func lock(f *os.File, mode Mode, wait bool) error {
	how := unix.LOCK_SH
	if mode == Exclusive {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return ErrLocked
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// Unlock takes any lock off an open file. Closing the file is not enough while
// it is mapped into memory: the mapping keeps the description, and so the lock.
func Unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// LetGo does nothing: a directory can be renamed and removed while locks in it are held.
func LetGo(...*Held) error { return nil }

// SyncDir makes the names in dir durable: files created, renamed and removed.
func SyncDir(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0) // a pipe in its place is an error, and no wait
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Patiently does something that fails on Windows while another program has the file open.
func Patiently(do func() error) error { return do() }

// CreateNew makes a file that must not exist, for writing. It may be renamed while it is
// open, and removed.
func CreateNew(path string, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// MoveNew gives a file another name, which must not be in use. For a moment it has both.
func MoveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		_ = os.Remove(from)
	}
	return err
}
