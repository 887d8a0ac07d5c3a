package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// ErrLocked is reported by [TryLock] when someone else holds the lock.
var ErrLocked = errors.New("locked by another process or goroutine")

// A Mode says with whom a lock is shared.
type Mode uint8

// The modes. Any number may hold a file Shared at once; Exclusive is alone.
const (
	Shared Mode = iota
	Exclusive
)

// A Held lock is released by Unlock, or by the end of the process. It is for
// one goroutine at a time.
type Held struct {
	file     *os.File
	writable bool
	home     *LockFile // where the file goes afterwards; nil: it is closed
	kept     keptFile  // what is known of the file, if it comes from there
}

// Unlock releases the lock; the second call and later ones do nothing.
func (h *Held) Unlock() error {
	if h.file == nil {
		return nil
	}
	defer func() { h.file = nil }()
	if h.home != nil && h.home.takeBack(h) {
		return nil
	}
	return h.file.Close() // closing the description releases its lock
}

// ReadAt reads from the lock file, in which holders may leave a few bytes for
// the next ones. They are not synced: a loss of power may take them back.
func (h *Held) ReadAt(p []byte, at int64) (int, error) { return h.file.ReadAt(p, at) }

// WriteAt writes into the lock file; only an exclusive holder should.
func (h *Held) WriteAt(p []byte, at int64) (int, error) { return h.file.WriteAt(p, at) }

// Lock waits for the lock on the file at path, which is created when missing
// and never removed. Processes exclude one
// another and so do goroutines of one process, each call being a holder of its
// own; a goroutine that locks twice waits for itself. Lock gives up with the
// context's error.
//
// The wait is in the kernel, not a poll. A wait that is given up goes on in
// the background until the lock is free, and then lets go of it at once. It makes
// no file any more: somebody may be removing the directory by then.
func Lock(ctx context.Context, path string, mode Mode) (*Held, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	held, err := TryLock(path, mode)
	if !errors.Is(err, ErrLocked) {
		return held, err
	}
	var making sync.Mutex // while it is held a file may be made
	open := func() (*os.File, bool, error) {
		making.Lock()
		defer making.Unlock()
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		return openLockFile(path, mode)
	}
	if ctx.Done() == nil {
		return acquire(open, path, mode, true)
	}
	type outcome struct {
		held *Held
		err  error
	}
	done := make(chan outcome)
	go func() {
		held, err := acquire(open, path, mode, true)
		select {
		case done <- outcome{held, err}:
		case <-ctx.Done():
			if held != nil {
				held.Unlock()
			}
		}
	}()
	select {
	case o := <-done:
		return o.held, o.err
	case <-ctx.Done():
		making.Lock() // an open that has begun ends before the caller goes on
		defer making.Unlock()
		return nil, ctx.Err()
	}
}

// TryLock takes the lock like [Lock] if that needs no waiting, and reports
// [ErrLocked] if it does.
func TryLock(path string, mode Mode) (*Held, error) {
	return acquire(func() (*os.File, bool, error) { return openLockFile(path, mode) }, path, mode, false)
}

// TryLockFile locks a file that is open already, if that needs no waiting;
// otherwise it reports [ErrLocked]. [Unlock] takes the lock off again.
func TryLockFile(f *os.File, mode Mode) error { return lock(f, mode, false) }

// acquire locks what open opens, until that is the file at path.
func acquire(open func() (*os.File, bool, error), path string, mode Mode, wait bool) (*Held, error) {
	for tries := 1; ; tries++ {
		f, writable, err := open()
		if err != nil {
			return nil, err
		}
		if err := lock(f, mode, wait); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		yes, err := current(f, path)
		if err == nil && yes {
			return &Held{file: f, writable: writable}, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if tries == replacedMax {
			return nil, fmt.Errorf("%s: the lock file was replaced %d times while it was locked", path, tries)
		}
	}
}

// replacedMax is how often a lock file may be found replaced by another one,
// which takes somebody who removes it again and again.
const replacedMax = 1000

func openLockFile(path string, mode Mode) (f *os.File, writable bool, err error) {
	f, err = OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil || mode != Shared || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign) {
		return f, true, err
	}
	// A reader of a read-only file system, or of a file it may not write.
	if r, rerr := OpenFile(path, os.O_RDONLY, 0); rerr == nil {
		return r, false, nil
	}
	return nil, false, err
}

// current reports whether the locked file is still the one at path: had
// someone removed it, two holders could have a lock each.
func current(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	theirs, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, theirs), err
}
