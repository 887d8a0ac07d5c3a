package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/engine"
)

// The exit codes of run that are not the command's, as env(1) and timeout(1) have them.
const (
	exitNotBegun = 125 // the state before could not be recorded
	exitNotRun   = 126 // the command could not be run
	exitNotFound = 127 // there is no such command
)

// An exitError ends run with the exit code of its command, which has said all there
// is to say.
type exitError int

func (e exitError) Error() string { return "exit " + strconv.Itoa(int(e)) }

// An around is a command with a point before it and one after it.
type around struct {
	app    *app
	label  string
	anyway bool
	point  engine.SnapshotOptions
}

func runCommand(a *app) *cobra.Command {
	r := around{app: a}
	c := verb("run -- COMMAND [ARG...]", "Run a command, with a snapshot before and one after; the exit code is the command's", takes(1, -1, "rewind run -- make test"), func(c *cobra.Command, args []string) error {
		return r.run(c.Context(), args)
	})
	c.Flags().SetInterspersed(false)
	c.Flags().StringVarP(&r.label, "message", "m", "", "a `label` for both points")
	c.Flags().BoolVar(&r.anyway, "anyway", false, "run the command even if the state before it cannot be recorded")
	return c
}

func (r *around) run(ctx context.Context, args []string) error {
	id := strconv.FormatInt(time.Now().UnixNano(), 36)
	r.point = engine.SnapshotOptions{Session: id, Entry: id, Agent: "run", Prompt: shortened(strings.Join(args, " "), 72)}
	if err := r.snapshot(ctx, "before"); err != nil {
		say(r.app.err, "rewind: the state before could not be recorded: %s\n", sentence(ctx, err))
		if !r.anyway {
			say(r.app.err, "rewind: %s was not run (--anyway runs it all the same)\n", args[0])
			return exitError(exitNotBegun)
		}
	}
	state, err := r.app.command(args, behindWriter(r.app.out))
	if err != nil {
		say(r.app.err, "rewind: run: %s\n", notStarted(args[0], err))
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return exitError(exitNotFound)
		}
		return exitError(exitNotRun)
	}
	if err := r.snapshot(ctx, "after"); err != nil {
		say(r.app.err, "rewind: the state after could not be recorded: %s\n", sentence(ctx, err))
	}
	if code := state.ExitCode(); code >= 0 {
		if code == 0 {
			return nil
		}
		return exitError(code)
	}
	return exitError(endAs(state))
}

// snapshot makes one of the two points. Nothing of it goes to standard output, which
// is the command's.
func (r *around) snapshot(ctx context.Context, when string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	if r.app.endAfter != nil {
		defer r.app.endAfter(ctx, r.app.err)()
	}
	opt := r.point
	opt.Trigger = map[string]string{"before": "prompt", "after": "turn"}[when]
	if r.label != "" {
		opt.Label = when + " " + r.label
	}
	if done, err := r.app.beside(ctx, &asked{What: askPoint, Options: opt, Warnings: when == "before"}); done {
		return err
	}
	e, err := engine.Open(ctx, r.app.dir, &engine.Options{Force: r.app.force, NoGit: r.app.noGit, Recovered: r.app.printRecovered})
	if err != nil {
		return err
	}
	defer e.Close()
	defer r.app.startWatcher(ctx, e)
	return r.app.point(ctx, e, &opt, when == "before")
}

// point takes a snapshot of which only what is worth saying is said.
func (a *app) point(ctx context.Context, e *engine.Engine, opt *engine.SnapshotOptions, warnings bool) error {
	if warnings {
		a.printWarnings(e)
		a.printBisect(ctx, e)
	}
	done, err := e.Snapshot(ctx, opt)
	if err != nil {
		return err
	}
	for _, line := range worthSaying(done) {
		say(a.err, "rewind: %s\n", line)
	}
	return nil
}

// command runs a command where -C says, with the terminal as it is, and waits for
// its end. Signals are its own.
func (a *app) command(args []string, out io.Writer) (*os.ProcessState, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.dir, a.in, out, a.err
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, passedOn()...)
	defer signal.Stop(heard)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-heard:
				passOn(cmd.Process, s, isTerminal(a.in))
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return cmd.ProcessState, nil
}

// notStarted says why a command did not begin.
func notStarted(name string, err error) string {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Sprintf("there is no command %q", name)
	}
	if where := (*fs.PathError)(nil); errors.As(err, &where) {
		err = where.Err
	}
	return fmt.Sprintf("%q cannot be run: %v", name, err)
}

// shortened is a text of at most so many characters.
func shortened(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
