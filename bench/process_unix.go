//go:build unix

package bench

import (
	"io/fs"
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

// allocated is how many bytes a file takes on disk.
func allocated(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return fi.Size()
}
