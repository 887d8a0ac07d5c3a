package durable

import (
	"errors"
	"os"

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

// Unlock does nothing: here closing a file always takes its locks off.
func Unlock(f *os.File) error { return nil }

// SyncDir does nothing: a directory cannot be flushed on this system, whose
// file systems journal names by themselves.
func SyncDir(dir string) error { return nil }
