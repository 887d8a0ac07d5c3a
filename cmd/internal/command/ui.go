package command

import (
	"bytes"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/ui"
	"github.com/seed-82afce7a/rewind/engine"
)

func uiCommand(a *app) *cobra.Command {
	return cli.Command("ui", "Look through the history on a terminal, and put states back", cli.Nothing, func(c *cobra.Command, _ []string) error {
		in, _ := show.Behind(a.In).(*os.File)
		out, _ := show.Behind(a.Out).(*os.File)
		if !show.IsTerminal(a.In) || !show.IsTerminal(a.Out) || os.Getenv("TERM") == "dumb" {
			return exit.Usagef("ui needs a terminal that it can draw on; without one, \"rewind list\" lists the snapshots, \"rewind diff ID\" shows what changed, and \"rewind restore ID\" puts a state back")
		}
		a.Verb = c.Name()
		ctx := c.Context()
		screen := ui.New(in, out, os.Getenv)
		e, err := engine.Open(ctx, a.Dir, &engine.Options{Force: a.Force, NoGit: a.NoGit, Recovered: screen.Recovered, Progress: screen.Progress, Lend: a.Lend, AutoPush: a.AutoPush})
		if err != nil {
			return err
		}
		a.Engine = e
		screen.Command = a.lend(e)
		for _, w := range e.Warnings() {
			show.Say(a.Err, "rewind: warning: %s\n", w)
		}
		return screen.Run(ctx, e)
	})
}

// lend carries out command lines on an engine that stays open.
func (a *app) lend(e *engine.Engine) ui.Runner {
	return func(ctx context.Context, args ...string) (said string, code int) {
		var out bytes.Buffer
		c := newLine(args, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &out})
		c.app.Dir, c.app.Force, c.app.NoGit, c.app.Lent = e.Root(), a.Force, a.NoGit, e
		code = c.run(ctx)
		return out.String(), code
	}
}
