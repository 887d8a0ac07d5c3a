package gitref

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// place gives a file another name, which must not be in use.
func place(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return placeByLink(from, to) // the file system cannot do it in one step
	}
	if err != nil {
		return &os.LinkError{Op: "renameat2", Old: from, New: to, Err: err}
	}
	return nil
}
