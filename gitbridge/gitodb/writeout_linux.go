package gitodb

import (
	"os"

	"golang.org/x/sys/unix"
)

// unpolled spares a new file the five calls by which package os finds out that it can
// be waited for no more than any other regular file.
const unpolled = unix.O_NONBLOCK

// rename is [os.Rename] without its look at what has the name already: a directory there
// is an error in any case.
func rename(from, to string) error {
	for {
		err := unix.Rename(from, to)
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
	}
}

// WriteOut waits until a file's bytes are with the disk, which need not have
// made them durable yet. Where that cannot be done it is left to the next sync.
func WriteOut(f *os.File) {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, all)
}

// startWriteOut begins what [WriteOut] waits for.
func startWriteOut(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
