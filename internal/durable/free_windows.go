package durable

import (
	"os"

	"golang.org/x/sys/windows"
)

// Free returns how many bytes the user may still write on the file system of a
// directory.
func Free(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, &os.PathError{Op: "GetDiskFreeSpaceEx", Path: dir, Err: err}
	}
	return int64(min(free, 1<<63-1)), nil
}
