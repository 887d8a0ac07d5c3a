// Package command is the command line as a whole: the tree of all commands, and one call of it.
package command

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/process"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// Main carries out the command line of this process, and ends it.
func Main() {
	c := newLine(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, EndAfter: process.EndAfter, Self: os.Args[0]})
	if err := process.EnoughFiles(); err != nil {
		show.Say(os.Stderr, "rewind: %v\n", err)
		os.Exit(c.exit(exit.Failed))
	}
	process.CollectLater()
	ctx, stop, off := context.Background(), func() {}, func() bool { return false }
	if !c.hearsItself() {
		ctx, stop = process.Interruptible(ctx)
		if !c.isBench() {
			off = process.EndAfter(ctx, os.Stderr)
		}
	}
	code := c.run(ctx)
	off()
	stop()
	os.Exit(code)
}

// A jsonError is what --json prints of a command that has no result.
type jsonError struct {
	Message string `json:"message"`
	Exit    int    `json:"exit"`
}

// wantsJSON reports whether --json was said, also on a command line in which
// something else is wrong.
func wantsJSON(a *app, args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return a.JSON || a.Engine == nil && slices.Contains(args, "--json")
}

// An app has the methods of this package.
type app struct{ *cli.App }

// A commandLine is one call of the program. The tree of all commands is made once for it: that takes
// longer than many a command.
type commandLine struct {
	app  *app
	out  *show.Output
	root *cobra.Command
	args []string
	verb string // the name of the command, if there is such a one
}

func newLine(args []string, io cli.Stdio) *commandLine {
	out := &show.Output{Writer: io.Out}
	io.Out = out
	c := &commandLine{app: &app{&cli.App{Stdio: io}}, out: out, args: args}
	c.root = newRoot(c.app.App)
	c.root.SetArgs(args)
	c.root.SetIn(io.In)
	c.root.SetOut(io.Out)
	c.root.SetErr(io.Err)
	if found, _, err := c.root.Find(args); err == nil {
		c.verb = found.Name()
	}
	return c
}

// exit is the exit code of the process. That of a hook is always 0: an agent may take
// another one for an answer, and refuse the prompt.
func (c *commandLine) exit(code int) int {
	if c.verb == "hook" {
		return exit.Done
	}
	return code
}

// hearsItself reports whether the command hears signals itself: run and acp, for which they
// are their command's, and bisect, which puts the files back first.
func (c *commandLine) hearsItself() bool {
	return c.verb == "run" || c.verb == "acp" || c.verb == "bisect"
}

// isBench reports whether it is the command bench: however long it takes, it removes
// what it made before it ends.
func (c *commandLine) isBench() bool { return c.verb == "bench" }

func (c *commandLine) run(ctx context.Context) int {
	a := c.app
	err := c.root.ExecuteContext(ctx)
	a.Close()
	if lost := c.out.Failed(); lost != nil && (err == nil || exit.Silent(err)) {
		err = lost
	}
	if err != nil && !exit.Silent(err) {
		a.Progress.Clear()
		show.Say(a.Err, "rewind: %v\n", errors.New(exit.Sentence(ctx, err)))
	}
	if err != nil && !a.Told && wantsJSON(a, c.args) {
		a.PrintJSON(map[string]any{"error": jsonError{Message: exit.Sentence(ctx, err), Exit: exit.Code(err)}})
	}
	return c.exit(exit.Code(err))
}
