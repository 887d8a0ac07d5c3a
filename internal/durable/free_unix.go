//go:build linux || darwin

package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// Free returns how many bytes the user may still write on the file system of a
// directory.
func Free(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
