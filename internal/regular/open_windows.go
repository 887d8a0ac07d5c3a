package regular

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const unwaiting = 0

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
