package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// restoring is what restore, undo and redo have in common.
type restoring struct {
	yes, dry bool
	op       engine.Op
	hint     string // what may be wrong with the paths; "": nothing
	carryOut func(*engine.Engine, context.Context, engine.Op) (*engine.Restored, error)
}

func restoreCommand(a *app) *cobra.Command {
	r := restoring{carryOut: (*engine.Engine).Do}
	var p verb.Restore
	var prompt string
	var parts bool
	oneOrMore := func(c *cobra.Command, args []string) error {
		if prompt != "" {
			return nil
		}
		return cli.Takes(1, -1, "rewind restore @")(c, args)
	}
	c := a.InWorktree("restore ID [-- PATH...]", "Put a recorded state back", oneOrMore, func(ctx context.Context, e *engine.Engine, args []string) error {
		opt := &r.op
		*opt = p.Op()
		ids, paths, err := a.SplitPaths(args, 1)
		if err != nil {
			return err
		}
		if prompt != "" {
			ids = append(ids, "prompt:"+prompt)
		}
		switch {
		case parts && opt.KeepMine:
			return exit.Usagef("%s: --patch chooses hunks of what a snapshot has, and --keep-mine merges it", a.Verb)
		case opt.Markers && !opt.KeepMine:
			return exit.Usagef("%s: --markers is for what is merged, as with --keep-mine", a.Verb)
		case parts && r.yes:
			return exit.Usagef("%s: --patch asks for each hunk, and --yes is not to be asked", a.Verb)
		case len(ids) == 0:
			return exit.Usagef("%s: ID is missing before --, as in: rewind restore @ -- FILE", a.Verb)
		case len(ids) > 1:
			return exit.Usagef("%s: either ID or --prompt says which snapshot, not both", a.Verb)
		}
		if a.Dash == len(args) { // a list of paths that came out empty does not mean everything
			return exit.Usagef("%s: no path behind -- (leave it out to restore everything)", a.Verb)
		}
		if opt.Paths, err = a.Inside(paths); err != nil {
			return err
		}
		s, err := a.SnapshotOf(ctx, e, ids[0])
		if err != nil {
			return err
		}
		a.noteBranch(s)
		if opt.To, r.hint = s.ID, cli.FlagHint(paths); opt.KeepMine {
			opt.Label = ids[0]
		}
		if parts {
			return a.restoreParts(ctx, e, &r)
		}
		return a.restore(ctx, e, &r)
	})
	c.Flags().StringVar(&prompt, "prompt", "", "in place of ID: the state before an agent worked on the prompt with this `id`")
	c.Flags().BoolVarP(&parts, "patch", "p", false, "ask for each hunk whether it is to be restored (y, n, q, a, d, s, e; ? explains them)")
	verb.Flags(c.Flags(), &p)
	return a.restoreFlags(c, &r)
}

func undoCommand(a *app) *cobra.Command {
	return a.historyCommand(engine.Undo, "Take back the last restore, also one that was interrupted")
}

func redoCommand(a *app) *cobra.Command {
	return a.historyCommand(engine.Redo, "Take back the last undo")
}

func (a *app) historyCommand(name, short string) *cobra.Command {
	r := restoring{op: engine.Op{Verb: name}, carryOut: (*engine.Engine).Do}
	c := a.InWorktree(name, short, cli.Nothing, func(ctx context.Context, e *engine.Engine, _ []string) error {
		return a.restore(ctx, e, &r)
	})
	return a.restoreFlags(c, &r)
}

func (a *app) restoreFlags(c *cobra.Command, r *restoring) *cobra.Command {
	c.Flags().BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&r.dry, "dry-run", false, "tell what would change, and change nothing")
	return a.JSONFlag(c)
}

// restore plans, asks where a person is there to ask, carries out and reports.
func (a *app) restore(ctx context.Context, e *engine.Engine, r *restoring) error {
	begin := time.Now()
	if r.dry {
		plan, err := e.Plan(ctx, r.op)
		if err != nil {
			return cli.WithHint(err, r.hint)
		}
		defer a.hintMarkers(r, plan.Conflicts)
		return a.printPlan(plan, time.Since(begin))
	}
	if !r.yes {
		if !a.Interactive() || a.JSON {
			if err := r.possible(ctx, e); err != nil {
				return err
			}
			return cli.WithHint(exit.Usagef("this changes files: say --yes, or --dry-run to see what it would do"), r.hint)
		}
		if err := a.ask(ctx, e, r); err != nil {
			return cli.WithHint(err, r.hint)
		}
	}
	begin = time.Now()
	done, err := r.carryOut(e, ctx, r.op)
	if err != nil {
		return cli.WithHint(err, r.hint)
	}
	defer a.hintMarkers(r, done.Conflicts)
	return a.printRestored(done, time.Since(begin))
}

// hintMarkers tells who has conflicts of texts, which only a merge has, what can be done
// about them.
func (a *app) hintMarkers(r *restoring, conflicts []engine.Note) {
	if r.op.Markers || a.JSON {
		return
	}
	texts := slices.ContainsFunc(conflicts, func(n engine.Note) bool { return strings.HasPrefix(n.Reason, conflictOfTexts) })
	if texts {
		fmt.Fprintln(a.Err, "--markers writes both versions of such lines into the file, between markers, for you to choose")
	}
}

// conflictOfTexts begins the reason of each conflict that markers can show.
const conflictOfTexts = "the same lines were changed on both sides"

// possible is an error if there is nothing to undo or redo: then --yes would not help.
func (r *restoring) possible(ctx context.Context, e *engine.Engine) error {
	if r.op.Verb != engine.Undo && r.op.Verb != engine.Redo {
		return nil
	}
	if _, err := e.Plan(ctx, r.op); errors.Is(err, engine.ErrNothing) {
		return err
	}
	return nil
}

// noteBranch tells that a snapshot was recorded on another branch.
func (a *app) noteBranch(s *engine.Snapshot) {
	here := a.Engine.Branch()
	if s.Branch == "" || s.Branch == here {
		return
	}
	if here == "" {
		show.Say(a.Err, "rewind: note: %s was recorded on branch %s; HEAD is on none now\n", s.ID.Short(), s.Branch)
		return
	}
	show.Say(a.Err, "rewind: note: %s was recorded on branch %s; the present branch is %s\n", s.ID.Short(), s.Branch, here)
}

// ask shows the plan on the terminal and waits for an answer. Where nothing has
// to change there is no question: carrying it out says so.
func (a *app) ask(ctx context.Context, e *engine.Engine, r *restoring) error {
	plan, err := e.Plan(ctx, r.op)
	if err != nil || len(plan.Changes) == 0 {
		return err
	}
	a.Progress.Clear()
	a.Warn(plan.Unfinished)
	const shown = 20
	show.PrintNames(a.Err, plan.Changes[:min(len(plan.Changes), shown)])
	if more := len(plan.Changes) - shown; more > 0 {
		show.Say(a.Err, "… and %s more (--dry-run shows all)\n", show.Count(more, "path"))
	}
	a.NoteLeft(plan.Kept, plan.Conflicts, plan.Marked)
	a.hintMarkers(r, plan.Conflicts)
	show.Say(a.Err, "Change %s? What is there now is recorded first. [y/N] ", show.Count(len(plan.Changes), "path"))
	return a.SaysYes(ctx)
}

// printPlan says what would be done, and ends as doing it would.
func (a *app) printPlan(p *engine.Diff, took time.Duration) error {
	a.Progress.Clear()
	a.Warn(p.Unfinished)
	out := wire.NewPlan(p, took)
	if a.JSON {
		a.PrintJSON(out)
	} else {
		a.PrintNames(p.Changes)
		a.NoteLeft(p.Kept, p.Conflicts, p.Marked)
		show.Say(a.Err, "would write %d and delete %d; nothing was changed\n", out.Written, out.Deleted)
	}
	if len(p.Conflicts)+len(p.Marked) > 0 { // as it would end without --dry-run
		return exit.ErrPartial
	}
	return nil
}

func (a *app) printRestored(r *engine.Restored, took time.Duration) error {
	a.Progress.Clear()
	a.Note("renewed", r.Renewed)
	a.NoteLeft(r.Kept, r.Conflicts, r.Marked)
	a.Warn(r.Bridge)
	switch {
	case a.JSON:
		a.PrintJSON(wire.NewRestored(r, took))
	case r.Undo.IsZero():
		show.Say(a.Out, "%s\n", a.nothingToChange(r.ID, len(r.Kept)+len(r.Conflicts)))
	default:
		back := "undo"
		if a.Verb == "undo" {
			back = "redo"
		}
		show.Say(a.Out, "%s: %d written, %d deleted, %s; \"rewind %s\" returns to %s\n", a.done(r.ID), r.Written, r.Deleted, took.Round(time.Millisecond), back, r.Undo.Short())
	}
	return cli.Outcome(r)
}

// done says what a command has done.
func (a *app) done(id oid.ID) string {
	if what := mergedBy[a.Verb]; what != "" {
		return what
	}
	return "restored " + id.Short()
}

// nothingToChange says why a restore does nothing. The paths that it leaves as
// they are were named before.
func (a *app) nothingToChange(id oid.ID, named int) string {
	if mergedBy[a.Verb] != "" {
		already := "the files have all of it already"
		if a.Verb == "revert" {
			already = "the files have none of it"
		}
		if named > 0 {
			already = "but for the paths named above, " + already
		}
		return "nothing to change: " + already
	}
	if named > 0 {
		return fmt.Sprintf("nothing to change: but for the paths named above, the files are as %s has them", id.Short())
	}
	return fmt.Sprintf("nothing to change: the files are as %s has them", id.Short())
}
