package process

import "syscall"

// Alone begins a process that neither the end of this one nor that of its console
// stops.
func Alone() *syscall.SysProcAttr {
	const detached = 0x00000008 // DETACHED_PROCESS
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detached, HideWindow: true}
}
