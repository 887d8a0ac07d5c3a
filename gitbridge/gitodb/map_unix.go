//go:build unix

package gitodb

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/regular"
)

// mapFile maps a file for reading. The caller unmaps it, and reads it under
// guard only.
func mapFile(path string) (data []byte, unmap func() error, at stamp, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, nil, stamp{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, stamp{}, err
	}
	if !st.Mode().IsRegular() || st.Size() == 0 || st.Size() != int64(int(st.Size())) {
		return nil, nil, stamp{}, &os.PathError{Op: "map", Path: path, Err: errors.New("not a file that can be mapped")}
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, stamp{}, &os.PathError{Op: "map", Path: path, Err: err}
	}
	return data, func() error { return unix.Munmap(data) }, stampOpened(path, st), nil
}

// mapOpen maps the first bytes of an open file for reading; nil where that is
// not possible, which is no error: the file can be read in the usual way.
func mapOpen(f *os.File, size int64) (data []byte, unmap func() error) {
	if size <= 0 || size != int64(int(size)) {
		return nil, nil
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	return data, func() error { return unix.Munmap(data) }
}
