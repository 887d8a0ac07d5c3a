package gitodb

import (
	"os"

	"golang.org/x/sys/unix"
)

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
