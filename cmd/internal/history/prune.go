package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
)

func pruneCommand(a *app) *cobra.Command {
	var p verb.Prune
	var days, thin int
	var grace time.Duration
	var unseen bool
	var gc bool
	var budget byteSize
	c := a.InWorktree("prune", "Drop snapshots beyond the limits and give the disk space back", cli.Nothing, func(ctx context.Context, e *engine.Engine, _ []string) error {
		p.MaxAgeDays = float64(days)
		opt, err := p.Options()
		if err != nil || grace < 0 || thin < 0 {
			return exit.Usagef("limits cannot be negative")
		}
		if opt.Grace = grace; a.Said("grace") && grace == 0 {
			opt.Grace = -1 // none, where leaving the flag out means the default
		}
		opt.ThinDays, opt.Unseen, opt.MaxStoreSize = thin, unseen, int64(budget)
		if opt.Forked, err = fork.Needed(ctx, e); err != nil {
			return err
		}
		done, err := e.Prune(ctx, opt)
		if err != nil {
			return err
		}
		if done.Bridge != nil {
			show.Say(a.Err, "rewind: dropped from the store, but not from git yet: %v\n", done.Bridge)
		}
		var collected *wire.Collected
		var failed error
		if gc && !opt.DryRun {
			var before, after int64
			var did bool
			switch before, after, did, failed = e.Collect(ctx); {
			case did:
				collected = &wire.Collected{Before: before, After: after}
			case failed == nil:
				show.Say(a.Err, "rewind: note: --gc means nothing here: this directory has no git\n")
			}
		}
		if a.JSON {
			a.PrintJSON(wire.NewPruned(done, collected, opt.DryRun))
		} else {
			a.printPruned(done, opt.DryRun)
			a.printHeld(done, collected, opt.DryRun)
		}
		if a.Warn(failed, done.Unfinished); failed != nil || done.Unfinished != nil {
			return exit.ErrPartial
		}
		return cli.Also(done.Recovered, nil)
	})
	f := c.Flags()
	verb.Flags(f, &p)
	f.IntVar(&days, "max-age-days", 0, "drop what nobody referred to for `N` days (default: the setting rewind.maxAgeDays)")
	f.Var(&budget, "max-store-size", "drop the oldest until the store has at most so many `bytes`, such as 500m (default: the setting rewind.maxStoreSize)")
	f.IntVar(&thin, "thin", 0, "keep all of today, one an hour for `N` days, then one a day (default: the setting rewind.thin)")
	f.DurationVar(&grace, "grace", 0, "contents younger than this `duration` stay (default 24h; 0s: all that nothing needs goes, which is safe only while no other command runs)")
	f.BoolVar(&unseen, "unseen", false, "limits also apply to snapshots of conversations whose session file is nowhere to be found; what is missing is gone for good")
	f.BoolVar(&gc, "gc", false, "then let git collect (git gc), leaving refs and reflogs alone; what nothing refers to stays until it is older than gc.pruneExpire (two weeks, unless it is set)")
	return a.JSONFlag(c)
}

func (a *app) printPruned(p *engine.Housekeeping, dry bool) {
	done, freed := "dropped", "gave back"
	if dry {
		a.PrintSnapshots(p.Dropped)
		done, freed = "would drop", "about"
	}
	show.Say(a.Out, "%s %s and %s, %s %s\n", done, show.Count(len(p.Dropped)+len(p.Foreign), "snapshot"), show.Count(int(p.Objects), "object"), freed, show.Size(p.Freed))
	if len(p.Dropped) > 0 && p.Objects == 0 {
		fmt.Fprintln(a.Out, "  what only they needed is younger than the grace period, or git's alone: a later prune gives the former back")
	}
	if n := len(p.Foreign); n > 0 {
		show.Say(a.Out, "  of these %d made by pi-rewind-hook\n", n)
	}
	var reasons []string
	for why := range p.Kept {
		reasons = append(reasons, why)
	}
	slices.SortFunc(reasons, func(x, y string) int {
		if d := p.Kept[y] - p.Kept[x]; d != 0 {
			return d
		}
		return len(x) - len(y)
	})
	for _, why := range reasons {
		show.Say(a.Out, "kept %5d  %s\n", p.Kept[why], why)
	}
	if p.Unlimited {
		fmt.Fprintln(a.Out, "no limit is set: \"rewind prune --max-snapshots N\" prunes once, the setting rewind.maxSnapshots limits every prune (docs/cli.md has the others)")
	}
	if p.Ledgers > 0 {
		show.Say(a.Out, "read %s\n", show.Count(p.Ledgers, "session file"))
	}
}

// printHeld says what git still has of what was dropped, why, and what frees it,
// or what git gave back.
func (a *app) printHeld(p *engine.Housekeeping, c *wire.Collected, dry bool) {
	if c != nil {
		show.Say(a.Out, "git gc: git's objects took %s, and take %s now\n", show.Size(c.Before), show.Size(c.After))
	}
	g := p.Git
	if g.Objects == 0 {
		return
	}
	still := "git still has"
	if dry {
		still = "git would still have"
	}
	takes := ""
	if g.Bytes > 0 {
		takes = " (" + show.Size(g.Bytes) + ")"
	}
	if c != nil {
		show.Say(a.Out, "of up to %s%s that only these snapshots needed, git keeps those that are younger than gc.pruneExpire (%s), until a later git gc\n", show.Count(g.Objects, "object"), takes, g.Expire)
	} else {
		show.Say(a.Out, "%s up to %s%s that only these snapshots needed: it deletes what nothing refers to when it collects, once that is older than gc.pruneExpire (%s). \"rewind prune --gc\" or \"git gc\" collects now\n", still, show.Count(g.Objects, "object"), takes, g.Expire)
	}
	if g.Reflog {
		fmt.Fprintln(a.Out, "the reflog of refs/pi-rewind/store refers to them until it expires; at once: git reflog expire --expire=now refs/pi-rewind/store")
	}
}

// A byteSize is a number of bytes, with k, m or g behind it as in git.
type byteSize int64

// String gives the number.
func (b *byteSize) String() string { return fmt.Sprint(int64(*b)) }

// Type names the value in the help.
func (b *byteSize) Type() string { return "bytes" }

// Set reads the number.
func (b *byteSize) Set(text string) error {
	digits := strings.TrimRight(text, "kKmMgG")
	shift, ok := map[string]int{"": 0, "k": 10, "m": 20, "g": 30}[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is no number of bytes", text)
	}
	*b = byteSize(n << shift)
	return nil
}
