//go:build unix

package bench

import "syscall"

// wake lets the process run again after rest.
func (s *session) wake() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// rest halts the process: what it does in idle times must not disturb others.
func (s *session) rest() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGSTOP)
	}
}
