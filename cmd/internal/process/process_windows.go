package process

import (
	"os"
	"syscall"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

// Alone begins a process that neither the end of this one nor that of its console
// stops.
func Alone() *syscall.SysProcAttr {
	const detached = 0x00000008 // DETACHED_PROCESS
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detached, HideWindow: true}
}

// EnoughFiles is for the systems that limit the files of a process.
func EnoughFiles() error { return nil }

// PassedOn lists the signals that must not end rewind while a command runs. A console
// sends them to the command as well.
func PassedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// PassOn does nothing here: the console has done so.
func PassOn(*os.Process, os.Signal, bool) {}

// EndAs is the exit code where no signal ends a program.
func EndAs(*os.ProcessState) int { return exit.Failed }
