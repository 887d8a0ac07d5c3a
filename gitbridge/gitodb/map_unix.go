//go:build unix

package gitodb

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/regular"
)

// mapFile maps a file for reading. The caller unmaps it, and reads it under
// guard only.
func mapFile(path string) (data []byte, unmap func() error, file fs.FileInfo, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, nil, err
	}
	data, unmap = mapOpen(f, st.Size())
	if data == nil {
		return nil, nil, nil, &os.PathError{Op: "map", Path: path, Err: errors.New("not a file that can be mapped")}
	}
	return data, unmap, st, nil
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

// giveBackPages takes the pages of a map out of the process. What is read again comes from
// the system's memory (madvise(2), MADV_DONTNEED of a shared map).
func giveBackPages(data []byte) {
	if len(data) > 0 {
		_ = unix.Madvise(data, unix.MADV_DONTNEED) // only memory is lost otherwise
	}
}
