package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/remote"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func listCommand(a *app) *cobra.Command {
	var p verb.List
	var oneline, graph bool
	var from string
	c := cli.Command("list [-- PATH...]", "List snapshots with what each one changed, newest first", onlyPaths, func(c *cobra.Command, args []string) error {
		l := p.Listing()
		l.Oneline, l.Graph = oneline, graph
		if err := l.Check(args); err != nil {
			return err
		}
		ctx, e, err := a.Open(c)
		if err != nil {
			return err
		}
		if c.Flags().Changed("remote") {
			return remote.List(c, a.App, from)
		}
		if l.Opt.Paths, err = a.Inside(args); err != nil {
			return err
		}
		l.Opt.Skipped = func(n engine.Note) { a.Note("skipped", []engine.Note{n}) }
		if !l.Opt.All && !a.JSON && !l.Graph {
			l.Opt.Wants = worthALine
		}
		l.Opt.Changes = true
		if a.JSON {
			return a.listJSON(ctx, e, &l)
		}
		return a.list(ctx, e, &l)
	})
	f := c.Flags()
	verb.Flags(f, &p)
	f.BoolVar(&oneline, "oneline", false, "only the id and what it is, with what it changed")
	f.StringVar(&from, "remote", "", "those of a remote, by its `name or URL`, of whatever machine; no other flag counts but --json")
	c.Aliases = []string{"history", "ls"}
	f.BoolVar(&graph, "graph", false, "draw which state came from which: restores lead back, and begin branches")
	return a.JSONFlag(c)
}

// worthALine reports whether a snapshot has a line of its own in a list: somebody
// recorded it on purpose, or gave it a label later. Of others there is a line for the
// restore that took them.
func worthALine(s *engine.Snapshot) bool { return !s.OfRestore() || s.Label() != "" }

// onlyPaths is what a verb takes that has paths behind "--", and nothing before it.
func onlyPaths(c *cobra.Command, args []string) error {
	if n := c.ArgsLenAtDash(); n < 0 && len(args) > 0 || n > 0 {
		return fmt.Errorf("%q is too much: paths stand behind --, as in: %s -- %s", args[0], c.CommandPath(), args[0])
	} else if n == 0 && len(args) == 0 { // a list of paths that came out empty does not mean everything
		return errors.New("no path stands behind --")
	}
	return nil
}

func (a *app) listJSON(ctx context.Context, e *engine.Engine, l *show.Listing) error {
	list, err := e.List(ctx, &l.Opt)
	if len(list) == 0 && err == nil {
		err = l.Nowhere()
	}
	if err != nil && len(list) == 0 {
		return err
	}
	m, other := show.MomentsOf(ctx, e)
	a.PrintJSON(wire.NewList(list, m.Here, m.Ops, m.Pins))
	return errors.Join(err, other) // of some the records are damaged
}

// page is how many snapshots are listed at once, so that the first are seen before
// the others are read.
const page = 256

// list prints the list page by page.
func (a *app) list(ctx context.Context, e *engine.Engine, l *show.Listing) error {
	opt := l.Opt
	if !opt.All && (opt.Limit == 0 || opt.Limit > page) {
		opt.Limit = page / 4
	}
	first, err := e.List(ctx, &opt)
	if err != nil && len(first) == 0 {
		return err
	}
	m, other := show.MomentsOf(ctx, e)
	err = errors.Join(err, other)
	if m = m.Chosen(ctx, e, l); len(first)+len(m.Kept) == 0 && err == nil {
		if err := l.Nowhere(); err != nil {
			return err
		}
		a.printNone(l)
		return nil
	}
	a.Progress.Clear()
	printed := a.Paged(func(w io.Writer, how show.Look) error {
		p := &show.Printer{W: w, M: m, L: l, Width: a.Width(), How: how, Left: l.Opt.Limit}
		for list := first; ; {
			if bad := p.Print(list); bad != nil {
				return bad
			}
			if p.Full() {
				return nil
			}
			if opt.All || len(list) < opt.Limit || len(list) == 0 {
				p.Restores(time.Time{}) // what is older than the last snapshot
				return nil
			}
			opt.Older, opt.Limit = list[len(list)-1].ID, page
			var bad error
			list, bad = e.List(ctx, &opt)
			if err = errors.Join(err, bad); bad != nil && len(list) == 0 {
				return nil
			}
		}
	})
	return errors.Join(printed, err) // of some the records are damaged
}

// printNone says why a list is empty, and what to do.
func (a *app) printNone(l *show.Listing) {
	switch {
	case l.Opt.Session != "" && l.Opt.Grep+l.Opt.Trigger+l.Since+l.Until == "" && len(l.Opt.Paths) == 0:
		show.Say(a.Err, "no snapshot of session %s; without --session all are listed\n", l.Opt.Session)
	case l.Filtered():
		fmt.Fprintln(a.Err, "no snapshot is like that; with fewer flags more are listed")
	case l.Opt.All:
		fmt.Fprintln(a.Err, "no snapshot yet; \"rewind snapshot\" records the state of all files")
	case cli.LeftOut(a.Engine.Warnings()):
		show.Say(a.Err, "no snapshot of %s in your own store yet; those in its git repository are not seen while git is left out; \"rewind snapshot\" records the state of all files\n", a.Engine.Root())
	default:
		show.Say(a.Err, "no snapshot of %s yet; \"rewind snapshot\" records the state of all files, \"rewind list --all\" shows those of other worktrees and systems\n", a.Engine.Root())
	}
}

func showCommand(a *app) *cobra.Command {
	c := a.InWorktree("show ID", "Show one snapshot and what it changed", cli.Takes(1, 1, "rewind show @"), func(ctx context.Context, e *engine.Engine, args []string) error {
		s, err := e.Find(ctx, args[0])
		if err != nil {
			return err
		}
		d, err := verb.Itself(ctx, e, s)
		if err != nil {
			return err
		}
		if a.JSON {
			a.PrintJSON(wire.NewShown(s, d.Changes))
			return nil
		}
		show.PrintRecord(a.Out, s)
		fmt.Fprintln(a.Out)
		a.PrintTold(d)
		return nil
	})
	return a.JSONFlag(c)
}
