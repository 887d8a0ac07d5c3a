package durable

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lock uses LockFileEx over all bytes a file can have. The handle is not an
// overlapped one, so the call waits by itself.
func lock(f *os.File, mode Mode, wait bool) error {
	var flags uint32
	if mode == Exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	const all = ^uint32(0)
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, all, all, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	if err != nil {
		return &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
	return nil
}

// patience is how long somebody may have a file open whose name is to change, or a file
// that is to go: a reader, or a program that looks for viruses.
const patience = time.Second

// Patiently does something that fails on this system while another program has the file
// open, until it is done or that lasts too long.
func Patiently(do func() error) error {
	begun := time.Now()
	for pause := time.Millisecond; ; pause *= 2 {
		err := do()
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_DELETE_PENDING)
		if !busy || time.Since(begun) > patience {
			return err
		}
		time.Sleep(pause)
	}
}

// Unlock does nothing: here closing a file always takes its locks off.
func Unlock(f *os.File) error { return nil }

// SyncDir does nothing: a directory cannot be flushed on this system, whose
// file systems journal names by themselves.
func SyncDir(dir string) error { return nil }
