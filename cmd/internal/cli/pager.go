package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// Paged gives print a writer: the pager where the output is a terminal
// ($REWIND_PAGER, else $PAGER, else less; none if that is empty or "cat"), else
// the output itself. A reader who leaves early is no error.
func (a *App) Paged(print func(io.Writer, show.Look) error) error {
	l := show.Look{Color: show.Colored(a.Out)}
	command := pagerCommand()
	if !show.IsTerminal(a.Out) || command == "" {
		l.Bare = show.IsTerminal(a.Out)
		return show.IgnoreClosed(print(a.Out, l))
	}
	return a.through(command, print, l)
}

// through lets a pager show what is printed. One that cannot be run is told of,
// and done without; one that fails may have lost what it was given.
func (a *App) through(command string, print func(io.Writer, show.Look) error, l show.Look) error {
	pager := exec.Command("sh", "-c", command)
	pager.Stdout, _ = show.Behind(a.Out).(io.Writer)
	pager.Stderr = a.Err
	pager.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		pager.Env = append(pager.Env, "LESS=FRX")
	}
	in, err := pager.StdinPipe()
	if err != nil {
		return err
	}
	bare := func() error {
		l.Bare = true
		return show.IgnoreClosed(print(a.Out, l))
	}
	if err := pager.Start(); err != nil {
		return bare()
	}
	printed := show.IgnoreClosed(print(in, l))
	in.Close()
	switch err := pager.Wait(); {
	case printed != nil || err == nil:
		return printed
	case pager.ProcessState.ExitCode() == notThere || pager.ProcessState.ExitCode() == notRun:
		show.Say(a.Err, "rewind: warning: the pager %q cannot be run; set REWIND_PAGER to another one, or to cat\n", command)
		return bare()
	default:
		return fmt.Errorf("the pager %q failed, and what it was to show may be missing: %w; set REWIND_PAGER to another one, or to cat", command, err)
	}
}

// How a shell ends that could not run a program.
const (
	notRun   = 126
	notThere = 127
)

func pagerCommand() string {
	for _, name := range []string{"REWIND_PAGER", "PAGER"} {
		if v, ok := os.LookupEnv(name); ok {
			if v = strings.TrimSpace(v); v == "cat" {
				return ""
			}
			return v
		}
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}
