package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// restoring is what restore, undo and redo have in common.
type restoring struct {
	yes, dry bool
	history  bool   // it is undo or redo
	merging  *bool  // it merges texts: whether with markers; nil: it does not
	hint     string // what may be wrong with the paths; "": nothing
	plan     func(context.Context, *engine.Engine) (*engine.Plan, error)
	carryOut func(context.Context, *engine.Engine) (*engine.Restored, error)
}

func restoreCommand(a *app) *cobra.Command {
	var r restoring
	opt := &engine.RestoreOptions{}
	var prompt string
	var parts bool
	oneOrMore := func(c *cobra.Command, args []string) error {
		if prompt != "" {
			return nil
		}
		return takes(1, -1, "rewind restore @")(c, args)
	}
	c := verb("restore ID [-- PATH...]", "Put a recorded state back", oneOrMore, func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		ids, paths, err := splitPaths(c, args, 1)
		if err != nil {
			return err
		}
		if prompt != "" {
			ids = append(ids, "prompt:"+prompt)
		}
		switch {
		case parts && opt.KeepMine:
			return usagef("%s: --patch chooses hunks of what a snapshot has, and --keep-mine merges it", c.Name())
		case opt.Markers && !opt.KeepMine:
			return usagef("%s: --markers is for what is merged, as with --keep-mine", c.Name())
		case parts && r.yes:
			return usagef("%s: --patch asks for each hunk, and --yes is not to be asked", c.Name())
		case len(ids) == 0:
			return usagef("%s: ID is missing before --, as in: rewind restore @ -- FILE", c.Name())
		case len(ids) > 1:
			return usagef("%s: either ID or --prompt says which snapshot, not both", c.Name())
		}
		if c.ArgsLenAtDash() == len(args) { // a list of paths that came out empty does not mean everything
			return usagef("%s: no path behind -- (leave it out to restore everything)", c.Name())
		}
		if opt.Paths, err = a.inside(paths); err != nil {
			return err
		}
		s, err := a.snapshotOf(ctx, e, ids[0])
		if err != nil {
			return err
		}
		a.noteBranch(s)
		if r.hint = flagHint(paths); opt.KeepMine {
			r.merging, opt.Label = &opt.Markers, ids[0]
		}
		if parts {
			return a.restoreParts(ctx, e, s, opt, &r)
		}
		r.plan = func(ctx context.Context, e *engine.Engine) (*engine.Plan, error) { return e.Plan(ctx, s.ID, opt) }
		r.carryOut = func(ctx context.Context, e *engine.Engine) (*engine.Restored, error) {
			return e.Restore(ctx, s.ID, opt)
		}
		return a.restore(ctx, e, &r)
	})
	c.Flags().StringVar(&prompt, "prompt", "", "in place of ID: the state before an agent worked on the prompt with this `id`")
	c.Flags().BoolVarP(&parts, "patch", "p", false, "ask for each hunk whether it is to be restored (y, n, q, a, d, s, e; ? explains them)")
	c.Flags().BoolVar(&opt.Ignored, "ignored", false, "restore ignored files too that are there and differ, not only those that are gone")
	c.Flags().BoolVar(&opt.KeepMine, "keep-mine", false, "keep what changed since the last snapshot of an agent's turn, merged with what is restored")
	markersFlag(c, opt)
	return a.restoreFlags(c, &r)
}

// markersFlag adds --markers.
func markersFlag(c *cobra.Command, opt *engine.RestoreOptions) {
	c.Flags().BoolVar(&opt.Markers, "markers", false, "write both versions of what cannot be merged, between markers, in place of leaving the file as it is")
}

// snapshotOf finds a snapshot. Who typed a file where an id belongs is told how
// to name it.
func (a *app) snapshotOf(ctx context.Context, e *engine.Engine, id string) (*engine.Snapshot, error) {
	s, err := e.Resolve(ctx, id)
	if !errors.Is(err, engine.ErrNoSnapshot) || id == "" {
		return s, err
	}
	if path, absErr := a.absolute(id); absErr == nil {
		if _, statErr := os.Lstat(path); statErr == nil {
			return nil, fmt.Errorf("%w; paths stand behind --, as in: rewind %s @ -- %s", err, a.verb, id)
		}
	}
	return nil, err
}

func undoCommand(a *app) *cobra.Command {
	return a.historyCommand("undo", "Take back the last restore, also one that was interrupted", (*engine.Engine).Undo)
}

func redoCommand(a *app) *cobra.Command {
	return a.historyCommand("redo", "Take back the last undo", (*engine.Engine).Redo)
}

func (a *app) historyCommand(name, short string, do func(*engine.Engine, context.Context) (*engine.Restored, error)) *cobra.Command {
	r := restoring{
		history: true,
		plan: func(ctx context.Context, e *engine.Engine) (*engine.Plan, error) {
			return e.PlanUndo(ctx, name == "redo")
		},
		carryOut: func(ctx context.Context, e *engine.Engine) (*engine.Restored, error) { return do(e, ctx) },
	}
	c := verb(name, short, nothing, func(c *cobra.Command, _ []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		return a.restore(ctx, e, &r)
	})
	return a.restoreFlags(c, &r)
}

func (a *app) restoreFlags(c *cobra.Command, r *restoring) *cobra.Command {
	c.Flags().BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&r.dry, "dry-run", false, "tell what would change, and change nothing")
	return a.jsonFlag(c)
}

// restore plans, asks where a person is there to ask, carries out and reports.
func (a *app) restore(ctx context.Context, e *engine.Engine, r *restoring) error {
	begin := time.Now()
	if r.dry {
		plan, err := r.plan(ctx, e)
		if err != nil {
			return withHint(err, r.hint)
		}
		defer a.hintMarkers(r, plan.Conflicts)
		return a.printPlan(plan, time.Since(begin))
	}
	if !r.yes {
		if !a.interactive() || a.json {
			if err := r.possible(ctx, e); err != nil {
				return err
			}
			return withHint(usagef("this changes files: say --yes, or --dry-run to see what it would do"), r.hint)
		}
		if err := a.ask(ctx, e, r); err != nil {
			return withHint(err, r.hint)
		}
	}
	begin = time.Now()
	done, err := r.carryOut(ctx, e)
	if err != nil {
		return withHint(err, r.hint)
	}
	defer a.hintMarkers(r, done.Conflicts)
	return a.printRestored(done, time.Since(begin))
}

// hintMarkers tells who merges, and has conflicts of texts, what can be done about them.
func (a *app) hintMarkers(r *restoring, conflicts []engine.Note) {
	if r.merging == nil || *r.merging || a.json {
		return
	}
	texts := slices.ContainsFunc(conflicts, func(n engine.Note) bool { return strings.HasPrefix(n.Reason, conflictOfTexts) })
	if texts {
		fmt.Fprintln(a.err, "--markers writes both versions of such lines into the file, between markers, for you to choose")
	}
}

// conflictOfTexts begins the reason of each conflict that markers can show.
const conflictOfTexts = "the same lines were changed on both sides"

// possible is an error if there is nothing to undo or redo: then --yes would not help.
func (r *restoring) possible(ctx context.Context, e *engine.Engine) error {
	if !r.history {
		return nil
	}
	if _, err := r.plan(ctx, e); errors.Is(err, engine.ErrNothing) {
		return err
	}
	return nil
}

// withHint adds to an error what may be its reason, if it may be.
func withHint(err error, hint string) error {
	if hint == "" || !errors.As(err, &usageError{}) && !errors.Is(err, engine.ErrNoSnapshot) {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// flagHint tells who wrote a flag behind "--" that it is a path there; "" if
// nobody did.
func flagHint(paths []string) string {
	for _, p := range paths {
		if strings.HasPrefix(p, "-") {
			return fmt.Sprintf("behind -- everything is a path, also %s: flags stand before it", p)
		}
	}
	return ""
}

// noteBranch tells that a snapshot was recorded on another branch.
func (a *app) noteBranch(s *engine.Snapshot) {
	here := a.engine.Branch()
	if s.Branch == "" || s.Branch == here {
		return
	}
	if here == "" {
		say(a.err, "rewind: note: %s was recorded on branch %s; HEAD is on none now\n", short(s.ID), s.Branch)
		return
	}
	say(a.err, "rewind: note: %s was recorded on branch %s; the present branch is %s\n", short(s.ID), s.Branch, here)
}

// errDeclined ends a command that somebody was asked about.
var errDeclined = errors.New("nothing was changed: the answer was not y")

// ask shows the plan on the terminal and waits for an answer. Where nothing has
// to change there is no question: carrying it out says so.
func (a *app) ask(ctx context.Context, e *engine.Engine, r *restoring) error {
	plan, err := r.plan(ctx, e)
	if err != nil || len(plan.Changes) == 0 {
		return err
	}
	a.progress.clear()
	a.warn(plan.Unfinished)
	const shown = 20
	printNames(a.err, plan.Changes[:min(len(plan.Changes), shown)])
	if more := len(plan.Changes) - shown; more > 0 {
		say(a.err, "… and %s more (--dry-run shows all)\n", count(more, "path"))
	}
	a.printKept(plan.Kept, plan.Conflicts)
	a.printMarked(plan.Marked)
	a.hintMarkers(r, plan.Conflicts)
	say(a.err, "Change %s? What is there now is recorded first. [y/N] ", count(len(plan.Changes), "path"))
	return a.saysYes(ctx)
}

// printKept names what stays or stayed as it is, and why.
func (a *app) printKept(kept, conflicts []engine.Note) {
	for _, k := range kept {
		say(a.err, "kept: %s: %s\n", quote(k.Path), k.Reason)
	}
	for _, k := range conflicts {
		say(a.err, "conflict: %s: %s\n", quote(k.Path), k.Reason)
	}
}

// printMarked names what has both versions now, between markers.
func (a *app) printMarked(list []engine.Note) {
	for _, n := range list {
		say(a.err, "marked: %s: %s\n", quote(n.Path), n.Reason)
	}
}

// printRenewed names what was damaged in the store and is whole again.
func (a *app) printRenewed(list []engine.Note) {
	for _, n := range list {
		say(a.err, "renewed: %s: %s\n", quote(n.Path), n.Reason)
	}
}

// printPlan says what would be done, and ends as doing it would.
func (a *app) printPlan(p *engine.Plan, took time.Duration) error {
	a.progress.clear()
	a.warn(p.Unfinished)
	out := wire.NewPlan(p, took)
	if a.json {
		a.printJSON(out)
	} else {
		a.printNames(p.Changes)
		a.printKept(p.Kept, p.Conflicts)
		a.printMarked(p.Marked)
		say(a.err, "would write %d and delete %d; nothing was changed\n", out.Written, out.Deleted)
	}
	if len(p.Conflicts)+len(p.Marked) > 0 { // as it would end without --dry-run
		return errPartial
	}
	return nil
}

func (a *app) printRestored(r *engine.Restored, took time.Duration) error {
	a.progress.clear()
	a.printRenewed(r.Renewed)
	a.printKept(r.Kept, r.Conflicts)
	a.printMarked(r.Marked)
	if r.Bridge != nil {
		say(a.err, "rewind: warning: %v\n", r.Bridge)
	}
	switch {
	case a.json:
		a.printJSON(wire.NewRestored(r, took))
	case r.Undo.IsZero():
		say(a.out, "%s\n", a.nothingToChange(r.ID, len(r.Kept)+len(r.Conflicts)))
	default:
		back := "undo"
		if a.verb == "undo" {
			back = "redo"
		}
		say(a.out, "%s: %d written, %d deleted, %s; \"rewind %s\" returns to %s\n", a.done(r.ID), r.Written, r.Deleted, took.Round(time.Millisecond), back, short(r.Undo))
	}
	return outcome(r)
}

// done says what a command has done.
func (a *app) done(id oid.ID) string {
	if what := mergedBy[a.verb]; what != "" {
		return what
	}
	return "restored " + short(id)
}

// nothingToChange says why a restore does nothing. The paths that it leaves as
// they are were named before.
func (a *app) nothingToChange(id oid.ID, named int) string {
	if mergedBy[a.verb] != "" {
		already := "the files have all of it already"
		if a.verb == "revert" {
			already = "the files have none of it"
		}
		if named > 0 {
			already = "but for the paths named above, " + already
		}
		return "nothing to change: " + already
	}
	if named > 0 {
		return fmt.Sprintf("nothing to change: but for the paths named above, the files are as %s has them", short(id))
	}
	return fmt.Sprintf("nothing to change: the files are as %s has them", short(id))
}

// outcome is how a command ends that wrote files.
func outcome(r *engine.Restored) error {
	switch {
	case r.Damaged:
		return errDamageFound
	case len(r.Conflicts)+len(r.Marked) > 0:
		return errPartial
	case r.Recovered != nil:
		return outcome(r.Recovered)
	}
	return nil
}
