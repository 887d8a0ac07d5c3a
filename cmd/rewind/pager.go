package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// colored reports whether output to w may have colours: a terminal, unless
// NO_COLOR is set (no-color.org) or the terminal is a dumb one.
func colored(w any) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A look is how a patch is shown.
type look struct {
	color bool
	bare  bool // on a terminal, with no pager between that takes care of what the terminal would obey
}

// paged gives print a writer: the pager where the output is a terminal
// ($REWIND_PAGER, else $PAGER, else less; none if that is empty or "cat"), else
// the output itself. A reader who leaves early is no error.
func (a *app) paged(print func(io.Writer, look) error) error {
	l := look{color: colored(a.out)}
	command := pagerCommand()
	if !isTerminal(a.out) || command == "" {
		l.bare = isTerminal(a.out)
		return ignoreClosed(print(a.out, l))
	}
	return a.through(command, print, l)
}

// through lets a pager show what is printed. One that cannot be run is told of,
// and done without; one that fails may have lost what it was given.
func (a *app) through(command string, print func(io.Writer, look) error, l look) error {
	pager := exec.Command("sh", "-c", command)
	pager.Stdout, _ = behind(a.out).(io.Writer)
	pager.Stderr = a.err
	pager.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		pager.Env = append(pager.Env, "LESS=FRX")
	}
	in, err := pager.StdinPipe()
	if err != nil {
		return err
	}
	bare := func() error {
		l.bare = true
		return ignoreClosed(print(a.out, l))
	}
	if err := pager.Start(); err != nil {
		return bare()
	}
	printed := ignoreClosed(print(in, l))
	in.Close()
	switch err := pager.Wait(); {
	case printed != nil || err == nil:
		return printed
	case pager.ProcessState.ExitCode() == notThere || pager.ProcessState.ExitCode() == notRun:
		say(a.err, "rewind: warning: the pager %q cannot be run; set REWIND_PAGER to another one, or to cat\n", command)
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

func ignoreClosed(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
