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
func openToRead(path string) (*os.File, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(p, windows.GENERIC_READ, shareAll, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// openToSync opens a file that exists for a sync, which this system allows only whoever
// may write. git's objects are read-only: such a file is writable for the moment of
// being opened.
func openToSync(path string) (*os.File, error) {
	f, err := Open(path)
	if err == nil {
		_ = f.Close()
		f, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if !errors.Is(err, os.ErrPermission) {
		return f, err
	}
	p, bad := windows.UTF16PtrFromString(path)
	if bad != nil {
		return nil, bad
	}
	had, bad := windows.GetFileAttributes(p)
	if bad != nil || had&windows.FILE_ATTRIBUTE_READONLY == 0 {
		return nil, err
	}
	if err := windows.SetFileAttributes(p, had&^windows.FILE_ATTRIBUTE_READONLY); err != nil {
		return nil, &os.PathError{Op: "sync", Path: path, Err: err}
	}
	f, err = os.OpenFile(path, os.O_WRONLY, 0)
	return f, errors.Join(err, windows.SetFileAttributes(p, had))
}
