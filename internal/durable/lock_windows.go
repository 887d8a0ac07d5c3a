package durable

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lock uses LockFileEx on a byte that no file has: nobody may read nor write those that
// are locked. The handle is not an overlapped one, so the call waits by itself.
func lock(f *os.File, mode Mode, wait bool) error {
	var flags uint32
	if mode == Exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1<<31 - 1})
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

// LetGo gives locks back before the directory in which they lie is renamed or removed: this
// system refuses that while a file in it is open. So it does for whoever takes them next.
func LetGo(held ...*Held) error {
	var errs []error
	for _, h := range held {
		errs = append(errs, h.Unlock())
	}
	return errors.Join(errs...)
}

// SyncDir does nothing: a directory cannot be flushed on this system, whose
// file systems journal names by themselves.
func SyncDir(dir string) error { return nil }

// CreateNew makes a file that must not exist, for writing. It may be renamed while it is
// open, and removed.
func CreateNew(path string, _ os.FileMode) (*os.File, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	var h windows.Handle
	err = Patiently(func() error {
		const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
		h, err = windows.CreateFile(p, windows.GENERIC_WRITE, shareAll, nil, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// MoveNew gives a file another name, which must not be in use.
func MoveNew(from, to string) error {
	p, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	q, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	if err := windows.MoveFileEx(p, q, 0); err != nil {
		return &os.LinkError{Op: "move", Old: from, New: to, Err: err}
	}
	return nil
}
