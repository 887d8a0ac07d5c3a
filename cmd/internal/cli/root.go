// Package cli has what all commands share: the flags before the verb, the worktree that is opened, how arguments and
// paths are read, what a person is asked, and how results and warnings are printed.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// An App is what the commands share: the flags before the verb and the engine.
type App struct {
	Stdio
	Dir      string
	Force    bool
	NoGit    bool
	JSON     bool
	Told     bool // the one object of --json
	Deadline time.Duration
	Engine   *engine.Engine
	Lent     *engine.Engine // of a program that lives on: it is used, and not closed; nil: the command opens one
	Verb     string         // the command that opened it
	flags    *pflag.FlagSet // of that command
	Dash     int            // how many arguments stand before "--"; -1: it is not there
	inTime   func() bool    // says that the command has ended before its deadline
	Progress show.Progress

	Lend func(ctx context.Context, root string) (text []byte, back func([]byte), ok bool) // of the process that watches; may be nil
}

// Said reports whether a flag of the command was given.
func (a *App) Said(flag string) bool { return a.flags.Changed(flag) }

// JSONFlag adds --json.
func (a *App) JSONFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.JSON, "json", false, "print one JSON object on standard output and nothing else there")
	return c
}

// Begin begins a command; the context ends at the deadline, if there is one.
func (a *App) Begin(c *cobra.Command) (context.Context, error) {
	a.Verb, a.Dash, a.flags = c.Name(), c.ArgsLenAtDash(), c.Flags()
	ctx := c.Context()
	if a.Deadline < 0 {
		return nil, exit.Usagef("--deadline %v is negative", a.Deadline)
	}
	if a.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.Deadline)
		context.AfterFunc(ctx, cancel)
		if a.EndAfter != nil {
			a.inTime = a.EndAfter(ctx, a.Err)
		}
	}
	return ctx, nil
}

// Open begins a command and finds the worktree.
func (a *App) Open(c *cobra.Command) (context.Context, *engine.Engine, error) {
	ctx, err := a.Begin(c)
	if err != nil {
		return nil, nil, err
	}
	e, err := a.OpenIn(ctx)
	if err == nil {
		a.WarnOfBisect(ctx, c, e)
	}
	return ctx, e, err
}

// OpenIn finds the worktree of a command that has begun.
func (a *App) OpenIn(ctx context.Context) (*engine.Engine, error) {
	if a.Lent != nil {
		a.Engine = a.Lent
		return a.Lent, nil
	}
	e, err := engine.Open(ctx, a.Dir, &engine.Options{Force: a.Force, NoGit: a.NoGit, Recovered: a.PrintRecovered, Progress: a.Progress.Start(a.Err), Lend: a.Lend, AutoPush: a.AutoPush})
	if err != nil {
		return nil, a.nowhere(err)
	}
	a.Engine = e
	a.PrintWarnings(e)
	return e, nil
}

// nowhere makes a directory of -C that there is not a mistake on the command line.
func (a *App) nowhere(err error) error {
	if info, statErr := os.Stat(a.Dir); a.Dir != "." && (errors.Is(statErr, os.ErrNotExist) || statErr == nil && !info.IsDir()) {
		return exit.Usage(err)
	}
	return err
}

// GitLeftOut begins the warning that the repository is not obeyed (package locate).
const GitLeftOut = "git is left out"

// LeftOut reports whether there is a repository that is not obeyed: its snapshots are
// not seen then.
func LeftOut(warnings []string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, GitLeftOut) })
}

// PrintWarnings says what is wrong with a worktree.
func (a *App) PrintWarnings(e *engine.Engine) {
	for _, w := range e.Warnings() {
		show.Say(a.Err, "rewind: warning: %s\n", w)
	}
}

// Close ends the command.
func (a *App) Close() {
	if a.Engine != nil && a.Engine != a.Lent {
		a.Engine.Close()
	}
	a.Progress.Clear()
	if a.inTime != nil {
		a.inTime()
	}
}

// WarnOfBisect says of a bisect that stands open that the files are not the user's
// present. The verbs of bisect itself need no such word.
func (a *App) WarnOfBisect(ctx context.Context, c *cobra.Command, e *engine.Engine) {
	if c.Name() != "bisect" && (!c.HasParent() || c.Parent().Name() != "bisect") {
		a.PrintBisect(ctx, e)
	}
}

// PrintBisect warns of a bisect that stands open.
func (a *App) PrintBisect(ctx context.Context, e *engine.Engine) {
	if open, err := e.Bisecting(ctx); err == nil && open != nil {
		show.Say(a.Err, "rewind: warning: a bisect stands open here since %s: \"rewind bisect reset\" puts back what was there before (%s)\n",
			open.Since.Local().Format(time.DateTime), open.Home.Short())
	}
}

// Stdio is where a command reads and writes.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	EndAfter func(context.Context, io.Writer) (off func() bool) // nil where the process is not the command's own
	Self     string                                             // how the program was called; empty there too
}
