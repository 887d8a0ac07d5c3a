//go:build unix

package regular

import (
	"os"
	"syscall"
)

// unwaiting lets opening a pipe return at once, and a terminal stay nobody's.
const unwaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY

func openToSync(path string) (*os.File, error) { return Open(path) }
