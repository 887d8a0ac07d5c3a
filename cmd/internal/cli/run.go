package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"

	"github.com/seed-82afce7a/rewind/cmd/internal/process"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// RunProgram runs a command where -C says, with the terminal as it is, and waits for
// its end. Signals are its own.
func (a *App) RunProgram(args []string, out io.Writer) (*os.ProcessState, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout = a.In, out
	return a.RunCommand(cmd, func() {})
}

// RunCommand is [App.RunProgram] for a command that has its input and output already. It
// calls begun when the command has begun.
func (a *App) RunCommand(cmd *exec.Cmd, begun func()) (*os.ProcessState, error) {
	cmd.Dir, cmd.Stderr = a.Dir, a.Err
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, process.PassedOn()...)
	defer signal.Stop(heard)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	begun()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-heard:
				process.PassOn(cmd.Process, s, show.IsTerminal(a.In))
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w", cmd.Args[0], err)
	}
	return cmd.ProcessState, nil
}
