//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

// Alone begins a process that neither the end of this one nor that of its terminal
// stops.
func Alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// filesMin is how many more files the program must be able to open. A command
// has some ten open at once, and two threads that scan two each. Go's runtime
// ends with a stack trace where it cannot open those that it waits with.
const filesMin = 24

// EnoughFiles reports that the process may open too few files, whoever has
// taken the others: the limit (ulimit -n), or who started the program.
func EnoughFiles() (err error) {
	var open []int
	for len(open) < filesMin && err == nil {
		var fd int
		if fd, err = syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			open = append(open, fd)
		}
	}
	for _, fd := range open {
		_ = syscall.Close(fd)
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("only %d more files can be opened, and %d are needed (ulimit -n): %w", len(open), filesMin, err)
	}
	return nil
}

// typed are the signals that a terminal sends to the command as well.
var typed = []os.Signal{os.Interrupt, syscall.SIGQUIT}

// PassedOn lists the signals that must not end rewind while a command runs. One that
// was ignored when rewind was started stays so, for the command too.
func PassedOn() (list []os.Signal) {
	for _, s := range append([]os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}, typed...) {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

// PassOn gives a signal to the command, unless the terminal has done so.
func PassOn(p *os.Process, s os.Signal, terminal bool) {
	if !terminal || !slices.Contains(typed, s) {
		_ = p.Signal(s)
	}
}

// EndAs ends the program as its command ended, so that whoever waits for it sees the
// same signal. It returns the exit code that stands for a signal where that cannot be.
func EndAs(state *os.ProcessState) int {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return exit.Failed
	}
	switch s := status.Signal(); s {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL, syscall.SIGPIPE:
		signal.Reset(s)
		if syscall.Kill(os.Getpid(), s) == nil {
			time.Sleep(time.Second) // it may reach another thread
		}
	}
	return 128 + int(status.Signal())
}
