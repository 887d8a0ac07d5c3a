//go:build !unix && !windows

package process

import "syscall"

// Alone is for the systems on which a process can be left to itself.
func Alone() *syscall.SysProcAttr { return nil }
