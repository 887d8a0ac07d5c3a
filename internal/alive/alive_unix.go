//go:build !windows

package alive

import (
	"errors"
	"syscall"
)

func process(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
