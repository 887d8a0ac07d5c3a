package change

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// forked is what --json prints of fork.
type forked struct {
	ID        string        `json:"id"`
	Directory wire.Path     `json:"directory"`
	DryRun    bool          `json:"dry_run,omitempty"`
	Files     int           `json:"files"`
	Ignored   *takenIgnored `json:"ignored,omitempty"` // with --ignored
	Conflicts []wire.Note   `json:"conflicts"`
	ElapsedMS float64       `json:"elapsed_ms"`
}

// takenIgnored says what --json tells of ignored files.
type takenIgnored struct {
	Files  int         `json:"files"`
	Bytes  int64       `json:"bytes"`
	Shared int         `json:"shared"`     // files that share their content
	Left   []wire.Note `json:"left"`       // was not taken
	Back   []wire.Note `json:"links_back"` // were taken, and lead into this worktree
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
	c := cli.Command("fork ID DIR", "Make a second working directory of a snapshot: in a repository a linked worktree", cli.Takes(2, 2, "rewind fork @~1 ../try"), func(c *cobra.Command, args []string) error {
		if how.ignored != "" && how.ignored != ignoredShared && how.ignored != ignoredCopied {
			return exit.Usagef("fork: --ignored=%s is neither --ignored=%s nor --ignored=%s", how.ignored, ignoredShared, ignoredCopied)
		}
		ctx, e, err := a.Open(c)
		if err != nil {
			return err
		}
		s, err := e.Find(ctx, args[0])
		if err != nil {
			return err
		}
		dir, err := a.Absolute(args[1])
		if err != nil {
			return err
		}
		if dir, err = fork.Place(ctx, e, dir); err != nil {
			return mistakenPlace(a.Verb, err)
		}
		return a.fork(ctx, e, s, dir, &how)
	})
	c.Flags().BoolVar(&how.dry, "dry-run", false, "tell what would be written, and write nothing")
	c.Flags().StringVar(&how.ignored, "ignored", "", "take the present's ignored files along (dependencies, build products), sharing their contents on the disk; --ignored=copy copies them where the file system cannot `share`")
	c.Flags().Lookup("ignored").NoOptDefVal = ignoredShared
	return a.JSONFlag(c)
}

// fork makes a fork, or tells what it would be.
func (a *app) fork(ctx context.Context, e *engine.Engine, s *engine.Snapshot, dir string, how *forking) (err error) {
	begin := time.Now()
	var along *fork.Ignored
	if how.ignored != "" {
		along, err = fork.Look(ctx, e, s, dir, fork.How{Copy: how.ignored == ignoredCopied, Progress: a.Progress.Of("ignored files")})
		if errors.Is(err, fork.ErrUnshared) {
			return fmt.Errorf("%w: %w of %s with %s: --ignored=copy copies %s (%s); nothing was made",
				engine.ErrRefused, err, show.Quote(engine.Path(e.Root())), show.Quote(engine.Path(dir)), show.Count(along.Files, "ignored file"), show.Size(along.Bytes))
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
	a.Progress.Clear()
	made.Conflicts = append(made.Conflicts, made.Taken.Failed...)
	a.Note("conflict", made.Conflicts)
	if along == nil { // else the present may have had them
		a.noteLacking(s)
	}
	how.took = time.Since(begin)
	a.printFork(made, along, dir, how)
	return cli.Outcome(made.Restored)
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
		left, back = along.Left, along.Back
	}
	if a.JSON {
		out := forked{ID: made.ID.String(), Directory: wire.NewPath(engine.Path(dir)), DryRun: how.dry, Files: made.Written, Conflicts: wire.Notes(made.Conflicts), ElapsedMS: float64(how.took.Microseconds()) / 1000}
		if along != nil {
			out.Ignored = &takenIgnored{t.Files, t.Bytes, t.Shared, wire.Notes(left), wire.Notes(back)}
		}
		a.PrintJSON(out)
		return
	}
	a.Note("left", left)
	for _, n := range back {
		show.Say(a.Err, "note: %s is a link into this worktree (%s)\n", show.Quote(n.Path), visible.Line(n.Reason))
	}
	files := show.Count(made.Written, "file") + " of " + made.ID.Short()
	if along != nil {
		files += fmt.Sprintf(" and %s (%s)", show.Count(t.Files, "ignored file"), show.Size(t.Bytes))
	}
	switch {
	case how.dry:
		show.Say(a.Err, "would write %s to %s; nothing was changed\n", files, show.Quote(engine.Path(dir)))
		return
	case along != nil && t.Shared == 0:
		files += " by copying"
	case along != nil:
		files += " by reflink"
	}
	show.Say(a.Out, "wrote %s to %s, %s; \"rewind forks --remove DIR\" removes it\n", files, show.Quote(engine.Path(dir)), how.took.Round(time.Millisecond))
}

// mistakenPlace makes a directory that a command may not make, or not write into, a
// mistake on the command line.
func mistakenPlace(command string, err error) error {
	if errors.Is(err, fork.ErrPlace) {
		return exit.Usagef("%s: %w", command, err)
	}
	return err
}

// listedForks is what --json prints of forks.
type listedForks struct {
	Forks   []listedFork `json:"forks,omitzero"`
	Removed *removedFork `json:"removed,omitempty"` // with --remove, alone
}

// removedFork is a fork that was removed or forgotten.
type removedFork struct {
	Directory wire.Path    `json:"directory"`
	Recorded  *wire.Record `json:"recorded,omitempty"` // the snapshot of what was changed there
	State     string       `json:"state"`              // as it was
}

// listedFork is a fork as --json prints it.
type listedFork struct {
	Directory wire.Path `json:"directory"`
	ID        string    `json:"id"`
	State     string    `json:"state"` // stands, unfinished (it was interrupted while it was made), gone, or another (directory is there now)
	Git       bool      `json:"git"`
	Time      time.Time `json:"time"`
	Changed   *int      `json:"changed,omitempty"` // paths, since it was made; not there: not known
	Bytes     int64     `json:"bytes"`
	Error     string    `json:"error,omitempty"`
}

func forksCommand(a *app) *cobra.Command {
	var remove string
	c := a.InWorktree("forks", "List the second working directories that fork has made, and remove them", cli.Nothing, func(ctx context.Context, e *engine.Engine, _ []string) error {
		opt := &engine.Options{Force: true, NoGit: a.NoGit} // a fork is no mistake
		if a.Said("remove") {
			dir, err := a.Absolute(remove)
			if err != nil {
				return err
			}
			r, err := fork.Remove(ctx, e, dir, a.Force, opt)
			if err != nil {
				return err
			}
			a.Progress.Clear()
			a.printRemoved(r)
			return nil
		}
		list, err := fork.List(ctx, e, opt)
		if err != nil && len(list) == 0 {
			return err
		}
		a.Progress.Clear()
		a.printForks(list)
		return err
	})
	c.Flags().StringVar(&remove, "remove", "", "remove the fork in this `directory`, unless something there is in no snapshot; --force removes it all the same")
	return a.JSONFlag(c)
}

func (a *app) printRemoved(r *fork.Removed) {
	if a.JSON {
		out := removedFork{Directory: wire.NewPath(engine.Path(r.Dir)), State: r.State}
		if r.Recorded != nil {
			recorded := wire.NewShown(r.Recorded, nil).Record
			out.Recorded = &recorded
		}
		a.PrintJSON(listedForks{Removed: &out})
		return
	}
	switch r.State {
	case fork.Gone, fork.Another:
		show.Say(a.Out, "forgot %s: %s\n", show.Quote(engine.Path(r.Dir)), stateOfFork[r.State])
		return
	}
	if r.Recorded != nil {
		show.Say(a.Out, "recorded what was there as %s\n", r.Recorded.ID.Short())
	}
	show.Say(a.Out, "removed %s\n", show.Quote(engine.Path(r.Dir)))
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
		f := listedFork{Directory: wire.NewPath(engine.Path(l.Dir)), ID: l.Snapshot.String(), State: l.State, Git: l.Git, Time: l.Time, Bytes: l.Bytes}
		state := stateOfFork[l.State]
		if l.Err != nil {
			f.Error = l.Err.Error()
			state = "it cannot be looked at: " + f.Error
		} else if l.State == fork.Stands {
			f.Changed = &l.Changed
			if state = "as it was made"; l.Changed > 0 {
				state = fmt.Sprintf("%s changed since", show.Count(l.Changed, "path"))
			}
		}
		out = append(out, f)
		if !a.JSON {
			show.Say(a.Out, "%s\n  of         %s, made %s\n  state      %s\n  size       %s\n", show.Quote(engine.Path(l.Dir)), l.Snapshot.Short(), show.Age(time.Since(l.Time)), state, show.Size(l.Bytes))
		}
	}
	if a.JSON {
		a.PrintJSON(listedForks{Forks: out})
	} else if len(list) == 0 {
		show.Say(a.Err, "no forks; \"rewind fork ID DIR\" makes one\n")
	}
}

func adoptCommand(a *app) *cobra.Command {
	var r restoring
	var p verb.Merge
	c := a.InWorktree("adopt DIR [-- PATH...]", "Bring what was done in a fork to this worktree, and keep what that has", cli.Takes(1, -1, "rewind adopt ../try"), func(ctx context.Context, e *engine.Engine, args []string) error {
		opt := &r.op
		*opt = p.Op("adopt")
		dirs, paths, err := a.SplitPaths(args, 1)
		switch {
		case err != nil:
			return err
		case len(dirs) != 1:
			return exit.Usagef("adopt: one DIR stands before --, as in: rewind adopt ../try -- FILE")
		case a.Dash == len(args):
			return exit.Usagef("adopt: no path behind -- (leave it out to adopt everything)")
		}
		dir, err := a.Absolute(dirs[0])
		if err != nil {
			return err
		}
		if opt.Paths, err = a.Inside(paths); err != nil {
			return err
		}
		from, err := fork.Adopt(ctx, e, dir, &engine.Options{Force: true, NoGit: a.NoGit}, *opt)
		if err != nil {
			return mistakenPlace(a.Verb, err)
		}
		opt.Ranges, opt.Label = from.Ranges, filepath.Base(from.Dir)
		r.hint, r.carryOut = cli.FlagHint(paths), from.Merge
		return a.restore(ctx, e, &r)
	})
	verb.Flags(c.Flags(), &p)
	return a.restoreFlags(c, &r)
}

func exportCommand(a *app) *cobra.Command {
	return a.InWorktree("export ID DIR", "Write what a snapshot holds into a new directory", cli.Takes(2, 2, "rewind export @ ../copy"), func(ctx context.Context, e *engine.Engine, args []string) error {
		s, err := e.Find(ctx, args[0])
		if err != nil {
			return err
		}
		dir, err := a.Absolute(args[1])
		if err != nil {
			return err
		}
		if err := fork.PlaceExport(ctx, e, dir); err != nil {
			return mistakenPlace(a.Verb, err)
		}
		r, err := e.Export(ctx, s, dir)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) { // the directory was empty, and nothing finishes or names what is in it now
			err = fmt.Errorf("stopped half-way: what is in %s is a part of the snapshot: delete it before you try again", visible.Line(args[1]))
		}
		if err != nil {
			return err
		}
		a.Progress.Clear()
		a.Note("not as recorded", r.Conflicts)
		a.noteLacking(s)
		show.Say(a.Out, "wrote %s to %s\n", show.Count(r.Written, "file"), args[1])
		if isBelow(e.Root(), dir) {
			show.Say(a.Err, "rewind: note: %s is in the worktree: the next snapshot records it, unless it is ignored\n", args[1])
		}
		return cli.Outcome(r)
	})
}

// noteLacking names what a snapshot does not have, and so nobody can write elsewhere.
func (a *app) noteLacking(s *engine.Snapshot) {
	a.NoteFirst("not written", s, slices.DeleteFunc(slices.Clone(s.Skipped), func(n engine.Note) bool { return n.Kept }))
}

// isBelow reports whether a directory that is there lies below another one.
func isBelow(root, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && filepath.IsLocal(rel)
}
