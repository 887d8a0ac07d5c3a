package history

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func importCommand(a *app) *cobra.Command {
	var from string
	var dry bool
	c := cli.Command("import", "Take over the checkpoints of other systems, so that they stay when those drop them", cli.Nothing, func(c *cobra.Command, _ []string) error {
		if err := cli.KindOf("--from", from); err != nil {
			return err
		}
		ctx, e, err := a.Open(c)
		if err != nil {
			return err
		}
		r, err := e.Import(ctx, from, dry)
		if err != nil {
			return err
		}
		a.Progress.Clear()
		a.Note("skipped", r.Left)
		a.Warn(r.Bridge)
		if a.JSON {
			a.PrintJSON(wire.NewImported(r, dry))
		} else {
			a.printImported(r, dry)
		}
		if len(r.Left) > 0 {
			return exit.ErrPartial
		}
		return cli.Also(r.Recovered, nil)
	})
	f := c.Flags()
	f.StringVar(&from, "from", "", "only of this `system`: "+strings.Join(engine.ImportKinds(), ", "))
	f.BoolVar(&dry, "dry-run", false, "tell what would be imported, and write nothing")
	return a.JSONFlag(c)
}

func (a *app) printImported(r *engine.Housekeeping, dry bool) {
	a.PrintSnapshots(r.Imported)
	if dry {
		show.Say(a.Err, "would import %s\n", show.Count(len(r.Imported), "checkpoint"))
		return
	}
	show.Say(a.Err, "imported %s\n", show.Count(len(r.Imported), "checkpoint"))
}
