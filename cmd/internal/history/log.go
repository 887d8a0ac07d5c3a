package history

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func logCommand(a *app) *cobra.Command {
	var p verb.Log
	var patch bool
	c := cli.Command("log [PATH]", "List the snapshots that changed a file or directory, also under the name it had before; without a PATH, all", cli.Takes(0, 1, "rewind log README.md"), func(c *cobra.Command, args []string) error {
		if p.Limit < 0 {
			return exit.Usagef("--limit %d is negative", p.Limit)
		}
		if patch && a.JSON {
			return exit.Usagef("%s: --patch and --json exclude one another", c.Name())
		}
		ctx, e, err := a.Open(c)
		if err != nil {
			return err
		}
		name := "."
		if len(args) > 0 {
			if name, err = a.Named(args[0]); err != nil {
				return err
			}
		}
		log, err := e.Log(ctx, name, p.Limit)
		nothing := len(args) == 0 && errors.Is(err, engine.ErrNoSnapshot) // nothing is recorded yet
		if err != nil && !nothing {
			return err
		}
		if a.JSON {
			a.PrintJSON(wire.NewLog(name, log))
			return nil
		}
		if nothing {
			a.printNone(&show.Listing{})
			return nil
		}
		m, err := show.MomentsOf(ctx, e)
		if err != nil {
			return err
		}
		a.Progress.Clear()
		return a.Paged(func(w io.Writer, how show.Look) error {
			p := &show.Printer{W: w, M: m, L: &show.Listing{}, Width: a.Width(), How: how}
			return p.Log(ctx, e, log, patch)
		})
	})
	verb.Flags(c.Flags(), &p)
	c.Flags().BoolVarP(&patch, "patch", "p", false, "with what each one changed, as diff shows it")
	return a.JSONFlag(c)
}
