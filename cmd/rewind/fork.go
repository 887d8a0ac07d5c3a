package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
	"github.com/seed-82afce7a/rewind/internal/wire"
)

// forked is what --json prints of fork.
type forked struct {
	ID        string      `json:"id"`
	Directory wire.Path   `json:"directory"`
	DryRun    bool        `json:"dry_run,omitempty"`
	Files     int         `json:"files"`
	Conflicts []wire.Note `json:"conflicts"`
	ElapsedMS float64     `json:"elapsed_ms"`
}

func forkCommand(a *app) *cobra.Command {
	var dry bool
	c := verb("fork ID DIR", "Make a second working directory of a snapshot: in a repository a linked worktree", takes(2, 2, "rewind fork @~1 ../try"), func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		s, err := e.Resolve(ctx, args[0])
		if err != nil {
			return err
		}
		dir, err := a.absolute(args[1])
		if err != nil {
			return err
		}
		if dir, err = fork.Place(ctx, e, dir); err != nil {
			return mistakenPlace(err)
		}
		begin := time.Now()
		r := &engine.Restored{ID: s.ID}
		if dry {
			d, err := e.Diff(ctx, nil, s, nil)
			if err != nil {
				return err
			}
			for _, ch := range d.Changes {
				if !ch.To.Dir() {
					r.Written++
				}
			}
		} else if r, err = fork.Make(ctx, e, s, dir); err != nil {
			return err
		}
		a.progress.clear()
		a.printKept(nil, r.Conflicts)
		out := forked{ID: idText(s.ID), DryRun: dry, Files: r.Written, ElapsedMS: float64(time.Since(begin).Microseconds()) / 1000}
		switch {
		case a.json:
			whole := wire.NewRestored(r, 0)
			out.Directory, out.Conflicts = wirePath(dir), whole.Conflicts
			a.printJSON(out)
		case dry:
			say(a.err, "would write %s of %s to %s; nothing was changed\n", count(r.Written, "file"), short(s.ID), quote(engine.Path(dir)))
		default:
			say(a.out, "wrote %s of %s to %s, %s; \"rewind forks --remove\" removes it\n", count(r.Written, "file"), short(s.ID), quote(engine.Path(dir)), time.Since(begin).Round(time.Millisecond))
		}
		return outcome(r)
	})
	c.Flags().BoolVar(&dry, "dry-run", false, "tell what would be written, and write nothing")
	return a.jsonFlag(c)
}

// wirePath is a directory as --json prints it.
func wirePath(dir string) wire.Path {
	return wire.NewRestored(&engine.Restored{Kept: []engine.Note{{Path: engine.Path(dir)}}}, 0).Kept[0].Path
}

// mistakenPlace makes a place at which no fork can be made a mistake on the command
// line, and a fork that there is not something unknown.
func mistakenPlace(err error) error {
	if errors.Is(err, fork.ErrPlace) {
		return usagef("fork: %w", err)
	}
	return err
}

// listedFork is a fork as --json prints it.
type listedFork struct {
	Directory wire.Path `json:"directory"`
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Git       bool      `json:"git"`
	Time      time.Time `json:"time"`
	Changed   *int      `json:"changed,omitempty"` // nil: not known
	Bytes     int64     `json:"bytes"`
	Error     string    `json:"error,omitempty"`
}

func forksCommand(a *app) *cobra.Command {
	var remove string
	c := verb("forks", "List the second working directories that fork has made, and remove them", nothing, func(c *cobra.Command, _ []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		opt := &engine.Options{Force: true, NoGit: a.noGit} // a fork is no mistake
		if c.Flags().Changed("remove") {
			dir, err := a.absolute(remove)
			if err != nil {
				return err
			}
			r, err := fork.Remove(ctx, e, dir, a.force, opt)
			if err != nil {
				return err
			}
			a.progress.clear()
			a.printRemoved(r)
			return nil
		}
		list, err := fork.List(ctx, e, opt)
		if err != nil && len(list) == 0 {
			return err
		}
		a.progress.clear()
		a.printForks(list)
		return err
	})
	c.Flags().StringVar(&remove, "remove", "", "remove the fork in this `directory`, unless something there is in no snapshot; --force removes it all the same")
	return a.jsonFlag(c)
}

func (a *app) printRemoved(r *fork.Removed) {
	if a.json {
		out := map[string]any{"directory": wirePath(r.Dir), "state": r.State}
		if r.Recorded != nil {
			out["recorded"] = wire.NewShown(r.Recorded, nil).Record
		}
		a.printJSON(map[string]any{"removed": out})
		return
	}
	switch r.State {
	case fork.Gone, fork.Another:
		say(a.out, "forgot %s: %s\n", quote(engine.Path(r.Dir)), stateOfFork[r.State])
		return
	}
	if r.Recorded != nil {
		say(a.out, "recorded what was there as %s\n", short(r.Recorded.ID))
	}
	say(a.out, "removed %s\n", quote(engine.Path(r.Dir)))
}

// stateOfFork says what became of a fork.
var stateOfFork = map[string]string{
	fork.Gone:       "it is not there any more",
	fork.Another:    "another directory is there now",
	fork.Unfinished: "it was interrupted while it was made: rewind forks --remove removes it",
}

func (a *app) printForks(list []fork.Listed) {
	out := []listedFork{}
	for _, l := range list {
		f := listedFork{Directory: wirePath(l.Dir), ID: idText(l.Snapshot), State: l.State, Git: l.Git, Time: l.Time, Bytes: l.Bytes}
		state := stateOfFork[l.State]
		if l.Err != nil {
			f.Error = l.Err.Error()
			state = "it cannot be looked at: " + f.Error
		} else if l.State == fork.Stands {
			f.Changed = &l.Changed
			if state = "as it was made"; l.Changed > 0 {
				state = fmt.Sprintf("%s changed since", count(l.Changed, "path"))
			}
		}
		out = append(out, f)
		if !a.json {
			say(a.out, "%s\n  of         %s, made %s\n  state      %s\n  size       %s\n", quote(engine.Path(l.Dir)), short(l.Snapshot), age(time.Since(l.Time)), state, size(l.Bytes))
		}
	}
	if a.json {
		a.printJSON(map[string]any{"forks": out})
	} else if len(list) == 0 {
		say(a.err, "no forks; \"rewind fork ID DIR\" makes one\n")
	}
}

func adoptCommand(a *app) *cobra.Command {
	var r restoring
	opt := &engine.RestoreOptions{}
	c := verb("adopt DIR [-- PATH...]", "Bring what was done in a fork to this worktree, and keep what that has", takes(1, -1, "rewind adopt ../try"), func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		dirs, paths, err := splitPaths(c, args, 1)
		switch {
		case err != nil:
			return err
		case len(dirs) != 1:
			return usagef("adopt: one DIR stands before --, as in: rewind adopt ../try -- FILE")
		case c.ArgsLenAtDash() == len(args):
			return usagef("adopt: no path behind -- (leave it out to adopt everything)")
		}
		dir, err := a.absolute(dirs[0])
		if err != nil {
			return err
		}
		if opt.Paths, err = a.inside(paths); err != nil {
			return err
		}
		from, err := fork.Adopt(ctx, e, dir, &engine.Options{Force: true, NoGit: a.noGit}, opt)
		if err != nil {
			return mistakenPlace(err)
		}
		opt.Label = filepath.Base(from.Dir)
		r.hint = flagHint(paths)
		r.plan = func(ctx context.Context, e *engine.Engine) (*engine.Plan, error) {
			return e.PlanMerge(ctx, []engine.Span{from.Span}, opt)
		}
		r.carryOut = func(ctx context.Context, e *engine.Engine) (*engine.Restored, error) { return from.Merge(ctx, e, opt) }
		return a.restore(ctx, e, &r)
	})
	c.Flags().BoolVar(&opt.Markers, "markers", false, "write both versions of what cannot be merged, between markers, in place of leaving the file as it is")
	c.Flags().BoolVar(&opt.Ignored, "ignored", false, "ignored files too that are there and differ, not only those that are gone")
	return a.restoreFlags(c, &r)
}
