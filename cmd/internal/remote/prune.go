package remote

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
)

func pruneCommand(a *app) *cobra.Command {
	opt, days := &engine.PruneOptions{}, 0
	lim := &away.Limits{Options: opt}
	c := cli.Command("prune [NAME]", "Drop snapshots of a remote beyond the limits, and remove what nothing there needs", cli.Takes(0, 1, "rewind remote prune disk"), func(c *cobra.Command, args []string) error {
		if opt.MaxSnapshots < 0 || days < 0 || opt.ThinDays < 0 {
			return exit.Usage(errors.New("limits cannot be negative"))
		}
		opt.MaxAge = cli.Duration(float64(days), 24*time.Hour)
		return a.prune(c, args, lim)
	})
	f := c.Flags()
	f.IntVar(&opt.MaxSnapshots, "max-snapshots", 0, "keep at most `N` of each worktree (default: the setting rewind.maxSnapshots)")
	f.IntVar(&days, "max-age-days", 0, "drop what is older than `N` days (default: the setting rewind.maxAgeDays)")
	f.IntVar(&opt.ThinDays, "thin", 0, "keep all of today, one an hour for `N` days, then one a day (default: the setting rewind.thin)")
	f.BoolVar(&lim.AnyHost, "any-host", false, "the limits also apply to what other machines and worktrees have brought of this history")
	f.BoolVar(&opt.DryRun, "dry-run", false, "tell what would go, and change nothing")
	return a.JSONFlag(c)
}

func (a *app) prune(c *cobra.Command, args []string, lim *away.Limits) error {
	ctx, e, m, s, err := a.opened(c, args)
	if err != nil {
		return err
	}
	r, err := e.Remotes().Prune(ctx, s, lim)
	if err != nil {
		return err
	}
	a.Progress.Clear()
	if a.JSON {
		a.PrintJSON(prunedTold{Remote: m.Name, Dropped: tellDistant(r.Dropped), Packs: r.Packs, Bytes: r.Bytes, Unused: r.Unused, Unlisted: r.Unlisted, DryRun: lim.DryRun})
		return nil
	}
	dropped, gave := "dropped", "gave back"
	if lim.DryRun {
		a.printDistant(r.Dropped)
		dropped, gave = "would drop", "about"
	}
	show.Say(a.Out, "%s %s of %s and %s, %s %s\n", dropped, show.Count(len(r.Dropped), "snapshot"), m.Name, show.Count(r.Packs, "pack"), gave, show.Size(max(0, r.Bytes)))
	if !r.Limited && !m.Git {
		show.Say(a.Out, "  no limit is set: --max-snapshots, --max-age-days or --thin, or the setting of that name\n")
	}
	if r.Here+r.Wanted > 0 {
		show.Say(a.Out, "  beyond the limits and kept: %d that are recorded here, %d with a label, pin or tag, or of other machines too\n", r.Here, r.Wanted)
	}
	if r.Unlisted > 0 {
		show.Say(a.Out, "  %s that no index names: if nobody is writing it, a prune after a day removes it\n", show.Count(r.Unlisted, "pack"))
	}
	return nil
}
