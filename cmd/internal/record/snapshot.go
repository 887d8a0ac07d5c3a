package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func snapshotCommand(a *app) *cobra.Command {
	var p verb.Snapshot
	var form string
	var dry, quiet bool
	c := cli.Command("snapshot [LABEL]", "Record the state of all files", label(&p), func(c *cobra.Command, _ []string) error {
		begin := time.Now()
		opt := p.Options()
		opt.Layout = form
		if err := cli.KindOf("--layout", form); err != nil {
			return err
		}
		if quiet && (dry || a.JSON) {
			return exit.Usagef("snapshot: --quiet leaves nothing of --dry-run or --json")
		}
		ctx, err := a.Begin(c)
		if err != nil {
			return err
		}
		if quiet {
			a.Out = io.Discard
		}
		if !dry {
			q := &asked{What: askSnapshot, JSON: a.JSON, Options: opt, Seconds: a.Deadline.Seconds()}
			if done, err := a.beside(ctx, q); done {
				return err
			}
		}
		e, err := a.OpenIn(ctx)
		if err != nil {
			return err
		}
		a.WarnOfBisect(ctx, c, e)
		if !dry {
			return a.snapshot(ctx, e, &opt, begin)
		}
		r, err := e.Snapshot(ctx, &engine.SnapshotOptions{DryRun: true})
		if err != nil {
			return err
		}
		a.printSnapshot(r, dry, time.Since(begin))
		if len(r.Unexpected) > 0 {
			return exit.ErrPartial
		}
		return nil
	})
	f := c.Flags()
	verb.Flags(f, &p)
	cli.AlsoLabel(f)
	f.DurationVar(&a.Deadline, "deadline", 0, "give up after this `duration` (such as 2s), recording nothing")
	f.StringVar(&form, "layout", "", "also write it in the form of this `system`: "+strings.Join(engine.ImportKinds(), ", "))
	f.BoolVarP(&quiet, "quiet", "q", false, "say nothing on standard output")
	f.BoolVar(&dry, "dry-run", false, "tell what would be recorded, and write nothing anywhere")
	c.Aliases = []string{"save", "checkpoint"}
	return a.JSONFlag(c)
}

// label takes a text that stands alone as the label.
func label(p *verb.Snapshot) cobra.PositionalArgs {
	return func(c *cobra.Command, list []string) error {
		switch {
		case len(list) == 0:
		case c.ArgsLenAtDash() >= 0:
			return errors.New("nothing stands behind --: a snapshot is of all files")
		case len(list) > 1:
			return fmt.Errorf("%q is too much: a label of several words stands in quotes, as in: rewind snapshot \"before the change\"", list[1])
		case c.Flags().Changed("message"):
			return fmt.Errorf("%q is a second label: say it alone, or behind -m", list[0])
		default:
			p.Label = list[0]
		}
		return nil
	}
}

// snapshot takes a snapshot and reports it.
func (a *app) snapshot(ctx context.Context, e *engine.Engine, opt *engine.SnapshotOptions, begin time.Time) error {
	r, err := e.Snapshot(ctx, opt)
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrUnfinished): // what came before the snapshot
		return err
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return errors.New("interrupted; nothing was recorded")
	case exit.Full(err):
		return fmt.Errorf("nothing was recorded: %w", err)
	default:
		return err
	}
	defer a.startWatcher(ctx, e, r.Looked)
	a.printSnapshot(r, false, time.Since(begin))
	if len(r.Unexpected) > 0 || r.LayoutError != nil || r.Unfinished != nil {
		return exit.ErrPartial
	}
	return cli.Also(r.Recovered, nil)
}

// printSnapshot reports a snapshot: as JSON, or as a sentence on the terminal.
func (a *app) printSnapshot(r *engine.Recorded, dry bool, took time.Duration) {
	a.Progress.Clear()
	a.Warn(r.Unfinished)
	a.Note("skipped", r.Unexpected)
	a.Note("in the store alone", r.Aside)
	if r.Excluded > 0 {
		show.Say(a.Err, "left out by settings: %s (\"rewind status\" names what is left out)\n", show.Count(r.Excluded, "path"))
	}
	if r.Uncounted != nil {
		show.Say(a.Err, "rewind: it is recorded, but what changed could not be counted: %v\n", r.Uncounted)
	}
	a.Note("unstable", r.Unstable)
	a.Warn(r.Bridge, r.LayoutError)
	if c := r.Cost; c != nil {
		show.Say(a.Err, "rewind: note: history takes %s (%s in the store, about %s in git), more than a tenth of the %s that are free on the disk; %s. This is said once, and again when it has doubled.\n",
			show.Size(c.Store+c.Git), show.Size(c.Store), show.Size(c.Git), show.Size(c.Free), cli.LessCost)
	}
	a.printExposed(r.Exposed)
	if a.JSON {
		a.PrintJSON(wire.NewSnapshot(r, took))
		return
	}
	since := " since the last snapshot or restore"
	switch what := changedText(r); {
	case dry && r.Reused:
		show.Say(a.Out, "nothing to record: %s has the files as they are\n", r.ID.Short())
	case dry && r.First:
		show.Say(a.Out, "would record tree %s, with %s\n", r.Tree, show.Count(r.Changed, "file"))
	case dry:
		show.Say(a.Out, "would record tree %s, %s%s\n", r.Tree, what, since)
	case r.Reused && r.Changed == 0 && r.Uncounted == nil:
		show.Say(a.Out, "%s  unchanged since the last snapshot\n", r.ID.Short())
	case r.Reused:
		show.Say(a.Out, "%s  %s; this state was recorded already\n", r.ID.Short(), what)
	case r.Changed == 0 && r.Uncounted == nil && !r.First:
		show.Say(a.Out, "%s  recorded, %s%s, %s\n", r.ID.Short(), what, since, took.Round(time.Millisecond))
	default:
		show.Say(a.Out, "%s  %s, %s\n", r.ID.Short(), what, took.Round(time.Millisecond))
	}
}

// changedText says how much a snapshot differs from where the files stood.
func changedText(r *engine.Recorded) string {
	switch {
	case r.Uncounted != nil:
		return "recorded"
	case r.First:
		return show.Count(r.Changed, "file") + " recorded"
	case r.Changed == 0:
		return "no path changed"
	}
	return show.Count(r.Changed, "path") + " changed"
}

// printExposed says once what a store's owner should know.
func (a *app) printExposed(list []engine.Path) {
	if len(list) == 0 {
		return
	}
	show.Say(a.Err, "rewind: note: %s may hold secrets and are in git objects now, under refs/pi-rewind/store; \"git config rewind.secrets builtin\" keeps such files out of git, \"rewind purge\" removes what is there. This is said once of each path; \"rewind status\" repeats it.\n", show.Paths(list))
}
