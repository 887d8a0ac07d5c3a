package change

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/engine"
)

// mergedBy says in a word what a command has done that merges.
var mergedBy = map[string]string{"revert": "reverted", "apply": "applied", "adopt": "adopted"}

func revertCommand(a *app) *cobra.Command {
	return a.mergeCommand("revert", "Take back what snapshots changed, and keep what was changed since", true)
}

func applyCommand(a *app) *cobra.Command {
	return a.mergeCommand("apply", "Bring what snapshots changed to the present, and keep what that has", false)
}

func (a *app) mergeCommand(name, short string, back bool) *cobra.Command {
	r := restoring{carryOut: (*engine.Engine).Do}
	var p verb.Merge
	c := a.InWorktree(name+" ID... [-- PATH...]", short, cli.Takes(1, -1, "rewind "+name+" @"), func(ctx context.Context, e *engine.Engine, args []string) error {
		opt := &r.op
		*opt = p.Op(name)
		ids, paths, err := a.SplitPaths(args, len(args))
		switch {
		case err != nil:
			return err
		case len(ids) == 0:
			return exit.Usagef("%s: ID is missing before --, as in: rewind %s @ -- FILE", name, name)
		case a.Dash == len(args):
			return exit.Usagef("%s: no path behind -- (leave it out to %s everything)", name, name)
		}
		if opt.Paths, err = a.Inside(paths); err != nil {
			return err
		}
		ranges, err := verb.RangesOf(ctx, e, ids, func(id string) (*engine.Snapshot, error) { return a.SnapshotOf(ctx, e, id) })
		if err != nil {
			return err
		}
		opt.Ranges, opt.Label = ranges.Merged(back)
		r.hint = cli.FlagHint(paths)
		return a.restore(ctx, e, &r)
	})
	verb.Flags(c.Flags(), &p)
	return a.restoreFlags(c, &r)
}
