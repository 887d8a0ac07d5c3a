package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/ui"
	"github.com/seed-82afce7a/rewind/engine"
)

func uiCommand(a *app) *cobra.Command {
	return verb("ui", "Look through the history on a terminal, and put states back", nothing, func(c *cobra.Command, _ []string) error {
		in, _ := behind(a.in).(*os.File)
		out, _ := behind(a.out).(*os.File)
		if !isTerminal(a.in) || !isTerminal(a.out) || os.Getenv("TERM") == "dumb" {
			return usagef("ui needs a terminal that it can draw on; without one, \"rewind list\" lists the snapshots, \"rewind diff ID\" shows what changed, and \"rewind restore ID\" puts a state back")
		}
		a.verb = c.Name()
		ctx := c.Context()
		screen := ui.New(in, out, os.Getenv)
		screen.Fork = forkTo
		e, err := engine.Open(ctx, a.dir, &engine.Options{Force: a.force, NoGit: a.noGit, Recovered: screen.Recovered, Progress: screen.Progress})
		if err != nil {
			return err
		}
		a.engine = e
		for _, w := range e.Warnings() {
			say(a.err, "rewind: warning: %s\n", w)
		}
		return screen.Run(ctx, e)
	})
}
