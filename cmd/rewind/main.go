// Command rewind is a time machine for the working directory of coding agents:
// it records the state of all files, and puts any recorded state back.
//
// This package parses flags, calls the engine once, and prints. It has no
// policy and touches no file of the store. docs/cli.md is its contract.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

func main() {
	c := newLine(os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, endAfter: endAfter, self: os.Args[0]})
	if err := enoughFiles(); err != nil {
		say(os.Stderr, "rewind: %v\n", err)
		os.Exit(c.exit(exitFailed))
	}
	collectLater()
	ctx, stop, off := context.Background(), func() {}, func() bool { return false }
	if !c.hearsItself() {
		ctx, stop = interruptible(ctx)
		if !c.isBench() {
			off = endAfter(ctx, os.Stderr)
		}
	}
	code := c.run(ctx)
	off()
	stop()
	os.Exit(code)
}

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	endAfter func(context.Context, io.Writer) (off func() bool) // nil where the process is not the command's own
	self     string                                             // how the program was called; empty there too
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
	return a.json || a.engine == nil && slices.Contains(args, "--json")
}

// A commandLine is one call of the program. The tree of all commands is made once for it: that takes
// longer than many a command.
type commandLine struct {
	app  *app
	out  *output
	root *cobra.Command
	args []string
	verb string // the name of the command, if there is such a one
}

func newLine(args []string, io stdio) *commandLine {
	out := &output{Writer: io.out}
	io.out = out
	c := &commandLine{app: &app{stdio: io}, out: out, args: args}
	c.root = newRoot(c.app)
	c.root.SetArgs(args)
	c.root.SetIn(io.in)
	c.root.SetOut(io.out)
	c.root.SetErr(io.err)
	if found, _, err := c.root.Find(args); err == nil {
		c.verb = found.Name()
	}
	return c
}

// exit is the exit code of the process. That of a hook is always 0: an agent may take
// another one for an answer, and refuse the prompt.
func (c *commandLine) exit(code int) int {
	if c.verb == "hook" {
		return exitDone
	}
	return code
}

// hearsItself reports whether the command hears signals itself: run, for which they
// are its command's, and bisect, which puts the files back first.
func (c *commandLine) hearsItself() bool { return c.verb == "run" || c.verb == "bisect" }

// isBench reports whether it is the command bench: however long it takes, it removes
// what it made before it ends.
func (c *commandLine) isBench() bool { return c.verb == "bench" }

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, io stdio) int { return newLine(args, io).run(ctx) }

func (c *commandLine) run(ctx context.Context) int {
	a := c.app
	err := c.root.ExecuteContext(ctx)
	a.close()
	if lost := c.out.failed(); lost != nil && (err == nil || isSilent(err)) {
		err = lost
	}
	if err != nil && !isSilent(err) {
		a.progress.clear()
		say(a.err, "rewind: %v\n", errors.New(sentence(ctx, err)))
	}
	if err != nil && !a.told && wantsJSON(a, c.args) {
		a.printJSON(map[string]any{"error": jsonError{Message: sentence(ctx, err), Exit: exitCode(err)}})
	}
	return c.exit(exitCode(err))
}
