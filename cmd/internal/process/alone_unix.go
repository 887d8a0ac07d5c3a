//go:build unix

package process

import (
	"syscall"
)

// Alone begins a process that neither the end of this one nor that of its terminal
// stops.
func Alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
