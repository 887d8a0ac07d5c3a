package history

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

func diffCommand(a *app) *cobra.Command {
	var stat, nameStatus, patch bool
	c := cli.Command("diff [FROM [TO]] [-- PATH...]", "Show what changed: since the last snapshot or restore, since FROM, or from FROM to TO", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		if stat && nameStatus || stat && patch || nameStatus && patch {
			return exit.Usagef("%s: --stat, --name-status and --patch exclude one another", c.Name())
		}
		ctx, e, err := a.Open(c)
		if err != nil {
			return err
		}
		ids, paths, err := a.SplitPaths(args, 2)
		if err != nil {
			return err
		}
		hint := cli.FlagHint(paths)
		if paths, err = a.Inside(paths); err != nil {
			return err
		}
		from, to, err := verb.DiffSides(ctx, e, ids, func(id string) (*engine.Snapshot, error) { return a.SnapshotOf(ctx, e, id) })
		if err != nil {
			return cli.WithHint(err, rangeHint(ids))
		}
		d, err := e.Diff(ctx, from, to, paths)
		if err != nil {
			return cli.WithHint(err, hint)
		}
		a.Progress.Clear()
		a.Warn(d.Unfinished)
		if a.JSON {
			out, err := verb.Difference(ctx, d, stat)
			if err == nil {
				a.PrintJSON(out)
			}
			return err
		}
		return a.Paged(func(w io.Writer, l show.Look) error {
			switch {
			case nameStatus:
				show.PrintNames(w, d.Changes)
				return nil
			case stat:
				return show.PrintStat(ctx, w, d, l.Color)
			}
			return show.PrintPatch(ctx, w, d, l)
		})
	})
	f := c.Flags()
	f.BoolVar(&stat, "stat", false, "only how many lines changed in each file")
	f.BoolVar(&nameStatus, "name-status", false, "only A, M, D or T and the path")
	f.BoolVar(&patch, "patch", false, "unified diff, as git prints it (the default)")
	return a.JSONFlag(c)
}

// rangeHint says how two ends are written, to whom writes them as git and revert do.
func rangeHint(ids []string) string {
	if len(ids) != 1 {
		return ""
	}
	from, to, ok := strings.Cut(ids[0], "..")
	if !ok || from == "" || to == "" {
		return ""
	}
	return fmt.Sprintf("write the two ends apart: rewind diff %s %s", visible.Line(from), visible.Line(to))
}
