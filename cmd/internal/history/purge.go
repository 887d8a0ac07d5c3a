package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func purgeCommand(a *app) *cobra.Command {
	var yes, dry bool
	c := a.InWorktree("purge PATH...", "Remove the content of paths from every snapshot, the store and our ref", cli.Takes(1, -1, "rewind purge --dry-run secret.key"), func(ctx context.Context, e *engine.Engine, args []string) error {
		if !yes && !dry {
			return exit.Usagef("a purge cannot be undone: --dry-run tells what would go, --yes does it")
		}
		list, err := a.Inside(args)
		if err != nil {
			return err
		}
		if slices.Contains(list, show.Literal+".") {
			return exit.Usagef("name what to purge: everything is not a path")
		}
		p, err := e.Purge(ctx, list, dry)
		if err != nil {
			return err
		}
		if p.Bridge != nil {
			show.Say(a.Err, "rewind: gone from the store, but not from our ref yet: %v\n", p.Bridge)
		}
		for _, n := range p.Left {
			show.Say(a.Err, "rewind: not purged: %s: %s\n", n.Path, n.Reason)
		}
		if a.JSON {
			a.PrintJSON(wire.NewPurged(p, dry))
		} else {
			a.printPurged(p, dry)
		}
		if p.Purged == 0 && slices.ContainsFunc(args, cli.HasGlob) {
			show.Say(a.Err, "rewind: a purge takes names as they are: write %sPATTERN for a pattern\n", show.Glob)
		}
		switch {
		case p.Bridge != nil || len(p.Left) > 0:
			return exit.ErrPartial
		case p.Purged == 0:
			return cli.Also(p.Recovered, exit.ErrNoPath)
		}
		return cli.Also(p.Recovered, nil)
	})
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do it: what is purged cannot be restored")
	c.Flags().BoolVar(&dry, "dry-run", false, "tell what would go, and change nothing")
	return a.JSONFlag(c)
}

func (a *app) printPurged(p *engine.Housekeeping, dry bool) {
	switch {
	case p.Purged == 0 && len(p.Left) > 0:
		fmt.Fprintln(a.Out, "no snapshot that can be purged has any of these paths")
		return
	case p.Purged == 0: // that is an error
		return
	}
	for _, path := range p.Paths {
		show.Say(a.Out, "%s\n", show.Quote(path))
	}
	if dry {
		show.Say(a.Out, "would be removed from %s\n", show.Count(p.Purged, "snapshot"))
		a.printTracked(p)
		return
	}
	show.Say(a.Out, "removed from %s, gave back %s\n", show.Count(p.Purged, "snapshot"), show.Size(p.Freed))
	defer fmt.Fprintln(a.Out, "a file in the worktree is untouched, and recorded again unless rewind.exclude names it")
	a.printRemotes()
	if p.Shared > 0 {
		show.Say(a.Out, "%s stay, because other paths have the same\n", show.Count(p.Shared, "content"))
	}
	a.printTracked(p)
	g := p.Git
	if g.Objects == 0 {
		return
	}
	show.Say(a.Out, "git still has %s of them in its object database, and deletes what nothing else refers to with a gc once it is older than gc.pruneExpire (%s); at once:\n", show.Count(g.Objects, "content"), g.Expire)
	if g.Reflog {
		fmt.Fprintln(a.Out, "  git reflog expire --expire=now refs/pi-rewind/store")
	}
	fmt.Fprintln(a.Out, "  git gc --prune=now")
	fmt.Fprintln(a.Out, "what was pushed, cloned or bundled before has them too")
}

// printTracked names what a purge leaves to git's own history.
func (a *app) printTracked(p *engine.Housekeeping) {
	if list := p.Git.Tracked; len(list) > 0 {
		show.Say(a.Out, "HEAD's commit has %s: git's own history keeps it\n", show.Paths(list))
	}
}

// printRemotes says what a purge does not reach.
func (a *app) printRemotes() {
	all, err := a.Engine.Remotes().List()
	if err != nil || len(all) == 0 {
		return
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	show.Say(a.Out, "what was pushed before stays there: a purge does not reach into %s\n", strings.Join(names, ", "))
}
