//go:build !unix

package process

import (
	"os"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

// PassedOn lists the signals that must not end rewind while a command runs. A console
// sends them to the command as well.
func PassedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// PassOn does nothing here: the console has done so.
func PassOn(*os.Process, os.Signal, bool) {}

// EndAs is the exit code where no signal ends a program.
func EndAs(*os.ProcessState) int { return exit.Failed }
