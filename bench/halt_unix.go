//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// halt stops a process, or lets it go on: what it does in idle times must not
// disturb others.
func halt(c *exec.Cmd, stop bool) {
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	_ = c.Process.Signal(signal) // it may have ended
}
