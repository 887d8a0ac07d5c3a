//go:build unix

package main

import "syscall"

// alone begins a process that neither the end of this one nor that of its terminal
// stops.
func alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
