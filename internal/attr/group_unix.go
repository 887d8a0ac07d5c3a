//go:build unix

package attr

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// gather puts a command, with all that it starts, into a process group of its
// own, so that they can be ended together.
func gather(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killAll ends a command and what it has started.
func killAll(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
