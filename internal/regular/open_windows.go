package regular

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// busy says that another program keeps everybody from the file, as while it renames it.
const busy = windows.ERROR_SHARING_VIOLATION

// openToRead lets other programs write, rename and remove the file meanwhile: most are
// git's.
func openToRead(path string) (*os.File, error) { return openFor(windows.GENERIC_READ, path) }

func openFor(access uint32, path string) (*os.File, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(p, access, shareAll, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

func openToWrite(path string) (*os.File, error) { return openFor(windows.GENERIC_WRITE, path) }

// openToSync opens a file that exists for a sync, which this system allows only whoever
// may write. git's objects are read-only: such a file is writable for the moment of
// being opened. Other processes may do that with the same file at once.
func openToSync(path string) (*os.File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	for range leaseTries {
		if f, err = patiently(path, openToWrite); errors.Is(err, os.ErrPermission) {
			f, err = openReadOnly(path)
		}
		if !errors.Is(err, os.ErrPermission) {
			return f, err
		}
	}
	return nil, err
}

// openReadOnly opens a read-only file for writing. It is [os.ErrPermission] where the file
// is not, or no more, read-only, or is so again.
func openReadOnly(path string) (*os.File, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "sync", Path: path, Err: err}
	}
	had, err := windows.GetFileAttributes(p)
	if err == nil && had&windows.FILE_ATTRIBUTE_READONLY == 0 {
		err = windows.ERROR_ACCESS_DENIED
	}
	if err == nil {
		err = windows.SetFileAttributes(p, had&^windows.FILE_ATTRIBUTE_READONLY)
	}
	if err != nil {
		return nil, &os.PathError{Op: "sync", Path: path, Err: err}
	}
	f, err := patiently(path, openToWrite)
	if back := windows.SetFileAttributes(p, had); back != nil && err == nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "sync", Path: path, Err: back}
	}
	return f, err
}
