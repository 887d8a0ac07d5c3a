package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/process"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// An around is a command with a point before it and one after it.
type around struct {
	app    *app
	label  string
	anyway bool
	turns  time.Duration // how long the command rests at the end of a turn; 0: it has none
	later  []string      // what is to be said when it has ended
	point  engine.SnapshotOptions
}

// promptWords is how much of what was asked a point remembers, in characters.
const promptWords = 72

func runCommand(a *app) *cobra.Command {
	r := around{app: a}
	c := cli.Command("run -- COMMAND [ARG...]", "Run a command, with a snapshot before and one after; the exit code is the command's", cli.Takes(1, -1, "rewind run -- make test"), func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("turns") && r.turns < quietLeast {
			return exit.Usagef("--turns %v is less than %v", r.turns, quietLeast)
		}
		if _, err := process.WorkOf(os.Getpid()); err != nil && r.turns > 0 {
			return exit.Usagef("--turns cannot be had here: %v", err)
		}
		return r.run(c.Context(), args)
	})
	c.Flags().SetInterspersed(false)
	c.Flags().StringVarP(&r.label, "message", "m", "", "a `label` for both points")
	cli.AlsoLabel(c.Flags())
	c.Flags().BoolVar(&r.anyway, "anyway", false, "run the command even if the state before it cannot be recorded")
	c.Flags().DurationVar(&r.turns, "turns", 0, "for an agent that calls no hook: also a snapshot each time it, and all that it started, has rested for this `duration` (Linux)")
	c.Flags().Lookup("turns").NoOptDefVal = "2s"
	return c
}

func (r *around) run(ctx context.Context, args []string) error {
	id := strconv.FormatInt(time.Now().UnixNano(), 36)
	r.point = engine.SnapshotOptions{Session: id, Entry: id, Agent: "run", Prompt: show.Shorten(strings.Join(args, " "), promptWords)}
	if err := r.snapshot(ctx, "before"); err != nil {
		show.Say(r.app.Err, "rewind: the state before could not be recorded: %s\n", exit.Sentence(ctx, err))
		if !r.anyway {
			show.Say(r.app.Err, "rewind: %s was not run (--anyway runs it all the same)\n", args[0])
			return exit.Status(exit.NotBegun)
		}
	}
	state, err := r.command(ctx, args)
	if err != nil {
		return r.app.notBegun("run", args[0], err)
	}
	if err := r.snapshot(ctx, "after"); err != nil {
		show.Say(r.app.Err, "rewind: the state after could not be recorded: %s\n", exit.Sentence(ctx, err))
	}
	if code := state.ExitCode(); code >= 0 {
		if code == 0 {
			return nil
		}
		return exit.Status(code)
	}
	return exit.Status(process.EndAs(state))
}

// command runs the command, and meanwhile watches for the ends of its turns.
func (r *around) command(ctx context.Context, args []string) (*os.ProcessState, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout = r.app.In, show.BehindWriter(r.app.Out)
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	state, err := r.app.RunCommand(cmd, func() {
		if r.turns > 0 {
			watching.Go(func() { r.watchTurns(ctx, cmd.Process.Pid) })
		}
	})
	stop()
	watching.Wait()
	for _, line := range r.later {
		show.Say(r.app.Err, "rewind: %s\n", line)
	}
	return state, err
}

// snapshot makes one of the two points. Nothing of it goes to standard output, which
// is the command's.
func (r *around) snapshot(ctx context.Context, when string) error {
	ctx, stop := process.Interruptible(ctx)
	defer stop()
	if r.app.EndAfter != nil {
		defer r.app.EndAfter(ctx, r.app.Err)()
	}
	opt := r.point
	opt.Trigger = map[string]string{"before": "prompt", "after": "turn"}[when]
	if r.label != "" {
		opt.Label = when + " " + r.label
	}
	if done, err := r.app.beside(ctx, &asked{What: askPoint, Options: opt, Warnings: when == "before"}); done {
		return err
	}
	e, err := engine.Open(ctx, r.app.Dir, &engine.Options{Force: r.app.Force, NoGit: r.app.NoGit, AutoPush: r.app.AutoPush, Recovered: r.app.PrintRecovered})
	if err != nil {
		return err
	}
	defer e.Close()
	return r.app.point(ctx, e, &opt, when == "before")
}

// point takes a snapshot of which only what is worth saying is said.
func (a *app) point(ctx context.Context, e *engine.Engine, opt *engine.SnapshotOptions, warnings bool) error {
	if warnings {
		a.PrintWarnings(e)
		a.PrintBisect(ctx, e)
	}
	done, err := e.Snapshot(ctx, opt)
	if err != nil {
		return err
	}
	for _, line := range worthSaying(done) {
		show.Say(a.Err, "rewind: %s\n", line)
	}
	a.startWatcher(ctx, e, done.Looked)
	return nil
}

// notBegun tells why a command did not begin, and ends as a shell would.
func (a *app) notBegun(verb, name string, err error) error {
	show.Say(a.Err, "rewind: %s: %s\n", verb, notStarted(name, err))
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exit.Status(exit.NotFound)
	}
	return exit.Status(exit.NotRun)
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
