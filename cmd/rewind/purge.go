package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func purgeCommand(a *app) *cobra.Command {
	var yes, dry bool
	c := verb("purge PATH...", "Remove the content of paths from every snapshot, the store and our ref", takes(1, -1, "rewind purge --dry-run secret.key"), func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		if !yes && !dry {
			return usagef("a purge cannot be undone: --dry-run tells what would go, --yes does it")
		}
		list, err := a.inside(args)
		if err != nil {
			return err
		}
		if slices.Contains(list, wordLiteral+".") {
			return usagef("name what to purge: everything is not a path")
		}
		p, err := e.Purge(ctx, list, dry)
		if err != nil {
			return err
		}
		if p.Bridge != nil {
			say(a.err, "rewind: gone from the store, but not from our ref yet: %v\n", p.Bridge)
		}
		for _, n := range p.Left {
			say(a.err, "rewind: not purged: %s: %s\n", n.Path, n.Reason)
		}
		if a.json {
			a.printJSON(wire.NewPurged(p, dry))
		} else {
			a.printPurged(p, dry)
		}
		if p.Snapshots == 0 && slices.ContainsFunc(args, hasGlob) {
			say(a.err, "rewind: a purge takes names as they are: write %sPATTERN for a pattern\n", wordGlob)
		}
		switch {
		case p.Bridge != nil || len(p.Left) > 0:
			return errPartial
		case p.Snapshots == 0:
			return also(p.Recovered, errNoPath)
		}
		return also(p.Recovered, nil)
	})
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do it: what is purged cannot be restored")
	c.Flags().BoolVar(&dry, "dry-run", false, "tell what would go, and change nothing")
	return a.jsonFlag(c)
}

func (a *app) printPurged(p *engine.Purged, dry bool) {
	switch {
	case p.Snapshots == 0 && len(p.Left) > 0:
		fmt.Fprintln(a.out, "no snapshot that can be purged has any of these paths")
		return
	case p.Snapshots == 0: // that is an error
		return
	}
	for _, path := range p.Paths {
		say(a.out, "%s\n", quote(path))
	}
	if dry {
		say(a.out, "would be removed from %s\n", count(p.Snapshots, "snapshot"))
		a.printTracked(p)
		return
	}
	say(a.out, "removed from %s, gave back %s\n", count(p.Snapshots, "snapshot"), size(p.Freed))
	defer fmt.Fprintln(a.out, "a file in the worktree is untouched, and recorded again unless rewind.exclude names it")
	if p.Shared > 0 {
		say(a.out, "%s stay, because other paths have the same\n", count(p.Shared, "content"))
	}
	a.printTracked(p)
	g := p.Git
	if g.Objects == 0 {
		return
	}
	say(a.out, "git still has %s of them in its object database, and deletes what nothing else refers to with a gc once it is older than gc.pruneExpire (%s); at once:\n", count(g.Objects, "content"), g.Expire)
	if g.Reflog {
		fmt.Fprintln(a.out, "  git reflog expire --expire=now refs/pi-rewind/store")
	}
	fmt.Fprintln(a.out, "  git gc --prune=now")
	fmt.Fprintln(a.out, "what was pushed, cloned or bundled before has them too")
}

// printTracked names what a purge leaves to git's own history.
func (a *app) printTracked(p *engine.Purged) {
	if list := p.Git.Tracked; len(list) > 0 {
		say(a.out, "HEAD's commit has %s: git's own history keeps it\n", paths(list))
	}
}
