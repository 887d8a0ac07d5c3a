package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func snapshotCommand(a *app) *cobra.Command {
	var opt engine.SnapshotOptions
	var dry bool
	noWords := func(_ *cobra.Command, list []string) error {
		if len(list) > 0 {
			return fmt.Errorf("%q is too much: a label stands behind -m, as in: rewind snapshot -m 'before the change'", list[0])
		}
		return nil
	}
	c := verb("snapshot", "Record the state of all files", noWords, func(c *cobra.Command, _ []string) error {
		begin := time.Now()
		if err := kindOf("--layout", opt.Form); err != nil {
			return err
		}
		ctx, err := a.begin(c)
		if err != nil {
			return err
		}
		if !dry {
			q := &asked{What: askSnapshot, JSON: a.json, Options: opt, Seconds: a.deadline.Seconds()}
			if done, err := a.beside(ctx, q); done {
				return err
			}
		}
		e, err := a.openIn(ctx)
		if err != nil {
			return err
		}
		a.warnOfBisect(ctx, c, e)
		if !dry {
			defer a.startWatcher(ctx, e)
			return a.snapshot(ctx, e, &opt, begin)
		}
		r, err := e.Preview(ctx)
		if err != nil {
			return err
		}
		a.printSnapshot(r, dry, time.Since(begin))
		if len(r.Unexpected) > 0 {
			return errPartial
		}
		return nil
	})
	f := c.Flags()
	f.StringVarP(&opt.Label, "message", "m", "", "a `label` for the snapshot")
	f.StringVar(&opt.Session, "session", "", "the `id` of the conversation it belongs to")
	f.StringVar(&opt.Entry, "entry", "", "the `id` of the conversation's entry")
	f.StringVar(&opt.Trigger, "trigger", "", "what caused it, in a `word`: turn, prompt, tool, …")
	f.DurationVar(&a.deadline, "deadline", 0, "give up after this `duration` (such as 2s), recording nothing")
	f.StringVar(&opt.Form, "layout", "", "also write it in the form of this `system`: "+strings.Join(engine.ImportKinds(), ", "))
	f.BoolVar(&dry, "dry-run", false, "tell what would be recorded, and write nothing anywhere")
	return a.jsonFlag(c)
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
	case isFull(err):
		return fmt.Errorf("nothing was recorded: %w", err)
	default:
		return err
	}
	a.printSnapshot(r, false, time.Since(begin))
	if len(r.Unexpected) > 0 || r.FormError != nil || r.Unfinished != nil {
		return errPartial
	}
	return also(r.Recovered, nil)
}

// printSnapshot reports a snapshot: as JSON, or as a sentence on the terminal.
func (a *app) printSnapshot(r *engine.Recorded, dry bool, took time.Duration) {
	a.progress.clear()
	a.warn(r.Unfinished)
	a.printSkipped(r.Unexpected)
	for _, n := range r.Aside {
		say(a.err, "in the store alone: %s: %s\n", quote(n.Path), n.Reason)
	}
	if r.Excluded > 0 {
		say(a.err, "left out by settings: %s (\"rewind status\" names what is left out)\n", count(r.Excluded, "path"))
	}
	if r.Uncounted != nil {
		say(a.err, "rewind: it is recorded, but what changed could not be counted: %v\n", r.Uncounted)
	}
	for _, n := range r.Unstable {
		say(a.err, "unstable: %s: %s\n", quote(n.Path), n.Reason)
	}
	if r.Bridge != nil {
		say(a.err, "rewind: warning: %v\n", r.Bridge)
	}
	if r.FormError != nil {
		say(a.err, "rewind: warning: %v\n", r.FormError)
	}
	if c := r.Cost; c != nil {
		say(a.err, "rewind: note: history takes %s (%s in the store, about %s in git), more than a tenth of the %s that are free on the disk; %s. This is said once, and again when it has doubled.\n",
			size(c.Store+c.Git), size(c.Store), size(c.Git), size(c.Free), lessCost)
	}
	a.printExposed(r.Exposed)
	if a.json {
		a.printJSON(wire.NewSnapshot(r, took))
		return
	}
	since := " since the last snapshot or restore"
	switch what := changedText(r); {
	case dry && r.Reused:
		say(a.out, "nothing to record: %s has the files as they are\n", short(r.ID))
	case dry && r.First:
		say(a.out, "would record tree %s, with %s\n", r.Tree, count(r.Changed, "file"))
	case dry:
		say(a.out, "would record tree %s, %s%s\n", r.Tree, what, since)
	case r.Reused && r.Changed == 0 && r.Uncounted == nil:
		say(a.out, "%s  unchanged since the last snapshot\n", short(r.ID))
	case r.Reused:
		say(a.out, "%s  %s; this state was recorded already\n", short(r.ID), what)
	case r.Changed == 0 && r.Uncounted == nil && !r.First:
		say(a.out, "%s  recorded, %s%s, %s\n", short(r.ID), what, since, took.Round(time.Millisecond))
	default:
		say(a.out, "%s  %s, %s\n", short(r.ID), what, took.Round(time.Millisecond))
	}
}

// changedText says how much a snapshot differs from where the files stood.
func changedText(r *engine.Recorded) string {
	switch {
	case r.Uncounted != nil:
		return "recorded"
	case r.First:
		return count(r.Changed, "file") + " recorded"
	case r.Changed == 0:
		return "no path changed"
	}
	return count(r.Changed, "path") + " changed"
}

// printExposed says once what a store's owner should know.
func (a *app) printExposed(list []engine.Path) {
	if len(list) == 0 {
		return
	}
	say(a.err, "rewind: note: %s may hold secrets and are in git objects now, under refs/pi-rewind/store; \"git config rewind.secrets builtin\" keeps such files out of git, \"rewind purge\" removes what is there. This is said once of each path; \"rewind status\" repeats it.\n", paths(list))
}

func syncCommand(a *app) *cobra.Command {
	return verb("sync", "Bring into git what is not there yet, and finish what a crash left", nothing, func(c *cobra.Command, _ []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		r, err := e.Sync(ctx)
		if err == nil {
			err = a.printSynced(ctx, e, r)
		}
		if r.Unfinished != nil {
			say(a.err, "rewind: warning: %v\n", r.Unfinished)
			return errors.Join(err, errPartial)
		}
		return also(r.Recovered, err)
	})
}

// printSynced says what git has now.
func (a *app) printSynced(ctx context.Context, e *engine.Engine, r *engine.Synced) error {
	st, err := e.Status(ctx)
	switch {
	case err != nil:
		return err
	case !st.Git:
		fmt.Fprintln(a.out, "this directory has no git: there is nothing to bring into it")
		return nil
	case r.Objects > 0:
		say(a.out, "%s put right in git; ", count(r.Objects, "object"))
	}
	if have := st.Total - st.Pending - len(st.Lost); have < st.Total {
		say(a.out, "git has %d of %s (\"rewind status\" names the others)\n", have, count(st.Total, "snapshot"))
		return nil
	}
	say(a.out, "git has all that it should have of %s\n", count(st.Total, "snapshot"))
	return nil
}
