//go:build unix

package regular

import (
	"os"
	"syscall"
)

// busy says that somebody has a lease on the file (fcntl(2)), and is asked to give it up.
const busy = syscall.EAGAIN

// openToRead returns at once for a pipe, and lets a terminal stay nobody's.
func openToRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}

func openToSync(path string) (*os.File, error) { return Open(path) }
