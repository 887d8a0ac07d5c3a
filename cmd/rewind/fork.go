package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
)

// forked is what --json prints of fork.
type forked struct {
	ID        string        `json:"id"`
	Directory wire.Path     `json:"directory"`
	DryRun    bool          `json:"dry_run,omitempty"`
	Files     int           `json:"files"`
	Ignored   *takenIgnored `json:"ignored,omitempty"` // nil: they were not asked for
	Conflicts []wire.Note   `json:"conflicts"`
	ElapsedMS float64       `json:"elapsed_ms"`
}

// takenIgnored says what --json tells of ignored files.
type takenIgnored struct {
	Files  int         `json:"files"`
	Bytes  int64       `json:"bytes"`
	Shared int         `json:"shared"` // files that share their content
	Left   []wire.Note `json:"left"`
	Back   []wire.Note `json:"links_back"`
}

// A forking is how a fork is asked for.
type forking struct {
	dry     bool
	ignored string // "": they stay; how their contents come along
	took    time.Duration
}

// The values of --ignored.
const (
	ignoredShared = "share"
	ignoredCopied = "copy"
)

func forkCommand(a *app) *cobra.Command {
	var how forking
	c := verb("fork ID DIR", "Make a second working directory of a snapshot: in a repository a linked worktree", takes(2, 2, "rewind fork @~1 ../try"), func(c *cobra.Command, args []string) error {
		if how.ignored != "" && how.ignored != ignoredShared && how.ignored != ignoredCopied {
			return usagef("fork: --ignored=%s is neither --ignored=%s nor --ignored=%s", how.ignored, ignoredShared, ignoredCopied)
		}
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
			return mistakenPlace(c.Name(), err)
		}
		return a.fork(ctx, e, s, dir, &how)
	})
	c.Flags().BoolVar(&how.dry, "dry-run", false, "tell what would be written, and write nothing")
	c.Flags().StringVar(&how.ignored, "ignored", "", "take the present's ignored files along (dependencies, build products), sharing their contents on the disk; --ignored=copy copies them where the file system cannot `share`")
	c.Flags().Lookup("ignored").NoOptDefVal = ignoredShared
	return a.jsonFlag(c)
}

// fork makes a fork, or tells what it would be.
func (a *app) fork(ctx context.Context, e *engine.Engine, s *engine.Snapshot, dir string, how *forking) (err error) {
	begin := time.Now()
	var along *fork.Ignored
	if how.ignored != "" {
		along, err = fork.Look(ctx, e, s, dir, fork.How{Copy: how.ignored == ignoredCopied, Progress: a.progress.of("ignored files")})
		if errors.Is(err, fork.ErrUnshared) {
			return fmt.Errorf("%w: %w of %s with %s: --ignored=copy copies %s (%s); nothing was made",
				engine.ErrRefused, err, quote(engine.Path(e.Root())), quote(engine.Path(dir)), count(along.Files, "ignored file"), size(along.Bytes))
		} else if err != nil {
			return err
		}
	}
	made := &fork.Made{Restored: &engine.Restored{ID: s.ID}}
	if how.dry {
		made.Written, err = a.wouldWrite(ctx, e, s)
		if along != nil {
			made.Taken.Files, made.Taken.Bytes = along.Files, along.Bytes
		}
	} else {
		made, err = fork.Make(ctx, e, s, dir, along)
	}
	if err != nil {
		return mistakenPlace("fork", err)
	}
	a.progress.clear()
	for _, n := range made.Taken.Failed {
		made.Conflicts = append(made.Conflicts, engine.Note{Path: engine.Path(n.Path), Reason: n.Reason})
	}
	a.printKept(nil, made.Conflicts)
	how.took = time.Since(begin)
	a.printFork(made, along, dir, how)
	return outcome(made.Restored)
}

// forkTo makes a fork of a snapshot, without ignored files.
func forkTo(ctx context.Context, e *engine.Engine, s *engine.Snapshot, dir string) (real string, done *engine.Restored, err error) {
	if real, err = fork.Place(ctx, e, dir); err != nil {
		return "", nil, err
	}
	made, err := fork.Make(ctx, e, s, real, nil)
	if err != nil {
		return real, nil, err
	}
	return real, made.Restored, nil
}

// wouldWrite counts what a fork would write.
func (a *app) wouldWrite(ctx context.Context, e *engine.Engine, s *engine.Snapshot) (n int, err error) {
	d, err := e.Diff(ctx, nil, s, nil)
	if err != nil {
		return 0, err
	}
	for _, ch := range d.Changes {
		if !ch.To.Dir() {
			n++
		}
	}
	return n, nil
}

// printFork tells what was made, or would be.
func (a *app) printFork(made *fork.Made, along *fork.Ignored, dir string, how *forking) {
	t := made.Taken
	var left, back []engine.Note
	if along != nil {
		for _, n := range append(along.Left, t.Left...) {
			left = append(left, engine.Note{Path: engine.Path(n.Path), Reason: n.Reason})
		}
		for _, n := range along.Back {
			back = append(back, engine.Note{Path: engine.Path(n.Path), Reason: n.Reason})
		}
	}
	if a.json {
		out := forked{ID: idText(made.ID), Directory: wirePath(dir), DryRun: how.dry, Files: made.Written, Conflicts: wireNotes(made.Conflicts), ElapsedMS: float64(how.took.Microseconds()) / 1000}
		if along != nil {
			out.Ignored = &takenIgnored{t.Files, t.Bytes, t.Shared, wireNotes(left), wireNotes(back)}
		}
		a.printJSON(out)
		return
	}
	for _, n := range left {
		say(a.err, "left: %s: %s\n", quote(n.Path), n.Reason)
	}
	for _, n := range back {
		say(a.err, "note: %s is a link into this worktree (%s)\n", quote(n.Path), plain(n.Reason))
	}
	files := count(made.Written, "file") + " of " + short(made.ID)
	if along != nil {
		files += fmt.Sprintf(" and %s (%s)", count(t.Files, "ignored file"), size(t.Bytes))
	}
	switch {
	case how.dry:
		say(a.err, "would write %s to %s; nothing was changed\n", files, quote(engine.Path(dir)))
		return
	case along != nil && t.Shared == 0:
		files += " by copying"
	case along != nil:
		files += " by reflink"
	}
	say(a.out, "wrote %s to %s, %s; \"rewind forks --remove DIR\" removes it\n", files, quote(engine.Path(dir)), how.took.Round(time.Millisecond))
}

// wireNotes are notes as --json prints them.
func wireNotes(list []engine.Note) []wire.Note {
	return wire.NewRestored(&engine.Restored{Kept: list}, 0).Kept
}

// wirePath is a directory as --json prints it.
func wirePath(dir string) wire.Path {
	return wire.NewRestored(&engine.Restored{Kept: []engine.Note{{Path: engine.Path(dir)}}}, 0).Kept[0].Path
}

// mistakenPlace makes a directory that a command may not make, or not write into, a
// mistake on the command line.
func mistakenPlace(command string, err error) error {
	if errors.Is(err, fork.ErrPlace) {
		return usagef("%s: %w", command, err)
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
	fork.Unfinished: "it was interrupted while it was made: \"rewind forks --remove DIR\" removes it",
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
			return mistakenPlace(c.Name(), err)
		}
		opt.Label = filepath.Base(from.Dir)
		r.hint, r.merging = flagHint(paths), &opt.Markers
		r.plan = func(ctx context.Context, e *engine.Engine) (*engine.Plan, error) {
			return e.PlanMerge(ctx, from.Spans, opt)
		}
		r.carryOut = func(ctx context.Context, e *engine.Engine) (*engine.Restored, error) { return from.Merge(ctx, e, opt) }
		return a.restore(ctx, e, &r)
	})
	markersFlag(c, opt)
	c.Flags().BoolVar(&opt.Ignored, "ignored", false, "ignored files too that are there and differ, not only those that are gone")
	return a.restoreFlags(c, &r)
}
