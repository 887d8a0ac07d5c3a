//go:build !windows

package restic

import (
	"errors"
	"syscall"
)

// runs reports whether there is a process.
func runs(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
