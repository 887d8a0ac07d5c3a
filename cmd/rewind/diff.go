package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func diffCommand(a *app) *cobra.Command {
	var stat, nameStatus, patch bool
	c := verb("diff [FROM [TO]] [-- PATH...]", "Show what changed: since the last snapshot or restore, since FROM, or from FROM to TO", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		if stat && nameStatus || stat && patch || nameStatus && patch {
			return usagef("%s: --stat, --name-status and --patch exclude one another", c.Name())
		}
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		ids, paths, err := splitPaths(c, args, 2)
		if err != nil {
			return err
		}
		hint := flagHint(paths)
		if paths, err = a.inside(paths); err != nil {
			return err
		}
		from, to, err := diffSides(ctx, e, ids, func(id string) (*engine.Snapshot, error) { return a.snapshotOf(ctx, e, id) })
		if err != nil {
			return withHint(err, rangeHint(ids))
		}
		d, err := e.Diff(ctx, from, to, paths)
		if err != nil {
			return withHint(err, hint)
		}
		a.progress.clear()
		a.warn(d.Unfinished)
		if a.json {
			out, err := difference(ctx, d, stat)
			if err == nil {
				a.printJSON(out)
			}
			return err
		}
		return a.paged(func(w io.Writer, l look) error {
			switch {
			case nameStatus:
				printNames(w, d.Changes)
				return nil
			case stat:
				return printStat(ctx, w, d, l.color)
			}
			return printPatch(ctx, w, d, l)
		})
	})
	f := c.Flags()
	f.BoolVar(&stat, "stat", false, "only how many lines changed in each file")
	f.BoolVar(&nameStatus, "name-status", false, "only A, M, D or T and the path")
	f.BoolVar(&patch, "patch", false, "unified diff, as git prints it (the default)")
	return a.jsonFlag(c)
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
	return fmt.Sprintf("write the two ends apart: rewind diff %s %s", plain(from), plain(to))
}

// splitPaths separates what stands before "--" from the paths behind it.
func splitPaths(c *cobra.Command, args []string, most int) (before, paths []string, err error) {
	before = args
	if n := c.ArgsLenAtDash(); n >= 0 {
		before, paths = args[:n], args[n:]
	}
	if len(before) > most {
		return nil, nil, usagef("%s: %q is too much (put paths after --)", c.Name(), before[most])
	}
	return before, paths, nil
}

// diffSides resolves the ids of a diff. Without any, it is from where the files
// stand to the worktree; to is nil for the worktree.
func diffSides(ctx context.Context, e *engine.Engine, ids []string, find func(string) (*engine.Snapshot, error)) (from, to *engine.Snapshot, err error) {
	if len(ids) == 0 {
		if from, err = e.Here(ctx); from != nil || err != nil {
			return from, nil, err
		}
		ids = []string{"@"} // which says that there is none
	}
	if from, err = find(ids[0]); err != nil || len(ids) == 1 {
		return from, nil, err
	}
	to, err = find(ids[1])
	return from, to, err
}

// difference makes the object of a diff, with the number of lines if stat is set.
func difference(ctx context.Context, d *engine.Difference, stat bool) (wire.Difference, error) {
	lines := func(c engine.Change) (*wire.Lines, error) {
		l, err := compare(ctx, d, c)
		if err != nil || l.binary {
			return nil, err
		}
		return &wire.Lines{Added: l.added, Removed: l.removed}, nil
	}
	if !stat {
		lines = nil
	}
	out, err := wire.NewDifference(d.Changes, lines)
	if d.Unfinished != nil {
		out.Unfinished = d.Unfinished.Error()
	}
	return out, err
}

// warn says what is wrong beside what a command shows; nil: nothing.
func (a *app) warn(err error) {
	if err != nil {
		say(a.err, "rewind: warning: %v\n", err)
	}
}

// printNames prints a letter and a path for each change.
func printNames(w io.Writer, list []engine.Change) {
	for _, c := range list {
		suffix := ""
		if c.To.Dir() || c.To.Mode == 0 && c.From.Dir() {
			suffix = "/"
		}
		fmt.Fprintf(w, "%c\t%s%s\n", c.Status(), quote(c.Path), suffix)
	}
}

func (a *app) printNames(list []engine.Change) { printNames(a.out, list) }
