package stattable

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// nameless makes a file, for the place of path, that has no name yet.
func nameless(path string) (*os.File, error) {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// giveName gives it its name, unless something has that: [fs.ErrExist].
func giveName(f *os.File, path string) error {
	from := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: from, New: path, Err: err}
	}
	return nil
}
