package dirfd

import (
	"io"

	"golang.org/x/sys/unix"
)

// A File is an open regular file, for reading, by one goroutine.
type File struct {
	fd   int
	name string
}

// OpenFile opens the file under a name for reading. A symbolic link is an
// error, a pipe does not block. Access times are left alone where the system
// lets us. What was opened need not be a regular file: ask [File.Stat].
func (d *Dir) OpenFile(name string) (*File, error) {
	if err := plain(name); err != nil {
		return nil, pathError("open", name, err)
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, openFileFlags|unix.O_NOATIME, 0)
	})
	if err == unix.EPERM { // not our file: the kernel keeps O_NOATIME for owners
		fd, err = retry(func() (int, error) { return unix.Openat(d.fd, name, openFileFlags, 0) })
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &File{fd: fd, name: name}, nil
}

// Stat returns the stat data of the open file.
func (f *File) Stat() (Stat, error) {
	var st Stat
	err := statx(f.fd, &emptyName[0], unix.AT_EMPTY_PATH, &st)
	return st, pathError("stat", f.name, err)
}

// Read implements [io.Reader].
func (f *File) Read(p []byte) (int, error) {
	n, err := retry(func() (int, error) { return unix.Read(f.fd, p) })
	switch {
	case err != nil:
		return 0, pathError("read", f.name, err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Rewind goes back to the first byte.
func (f *File) Rewind() error {
	_, err := unix.Seek(f.fd, 0, io.SeekStart)
	return pathError("seek", f.name, err)
}

// Close closes the file.
func (f *File) Close() error { return unix.Close(f.fd) }
