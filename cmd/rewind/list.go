package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/when"
)

// A listing is how snapshots are listed.
type listing struct {
	opt          engine.ListOptions
	since, until string
	oneline      bool
	graph        bool
}

func listCommand(a *app) *cobra.Command {
	var l listing
	c := verb("list [-- PATH...]", "List snapshots with what each one changed, newest first", onlyPaths, func(c *cobra.Command, args []string) error {
		if err := l.check(args); err != nil {
			return err
		}
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		if l.opt.Paths, err = a.inside(args); err != nil {
			return err
		}
		l.opt.Skipped = func(n engine.Note) { a.printSkipped([]engine.Note{n}) }
		if !l.opt.All && !a.json && !l.graph {
			l.opt.Wants = worthALine
		}
		l.opt.Changes = true
		if a.json {
			return a.listJSON(ctx, e, &l)
		}
		return a.list(ctx, e, &l)
	})
	f := c.Flags()
	f.BoolVar(&l.opt.All, "all", false, "of every worktree that shares the store, with undo snapshots by their ids, and the checkpoints of other systems")
	f.StringVar(&l.opt.Session, "session", "", "only those of the conversation with this `id`")
	f.StringVar(&l.opt.Trigger, "trigger", "", "only those that this `word` caused: turn, prompt, …")
	f.StringVar(&l.opt.Grep, "grep", "", "only those of which a label or prompt has this `text`")
	f.StringVar(&l.since, "since", "", "only those from this `time` on: \"2 hours ago\", yesterday, 2026-11-21")
	f.StringVar(&l.until, "until", "", "only those up to this `time`")
	f.IntVarP(&l.opt.Limit, "limit", "n", 0, "at most `N` lines of snapshots; 0: all")
	f.BoolVar(&l.oneline, "oneline", false, "only the id and what it is, with what it changed")
	f.BoolVar(&l.graph, "graph", false, "draw which state came from which: restores lead back, and begin branches")
	return a.jsonFlag(c)
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

// check reads what the flags say.
func (l *listing) check(paths []string) error {
	if l.opt.Limit < 0 {
		return usagef("--limit %d is negative", l.opt.Limit)
	}
	if l.graph && (l.filtered() || len(paths) > 0 || l.opt.All || l.oneline) {
		return usagef("--graph draws the whole history of this worktree: of the other flags it takes --limit alone")
	}
	now := time.Now()
	for _, t := range []struct {
		flag, text string
		set        func(when.Span)
	}{
		{"--since", l.since, func(s when.Span) { l.opt.Since = s.From }},
		{"--until", l.until, func(s when.Span) { l.opt.Until = s.To }},
	} {
		if t.text == "" {
			continue
		}
		span, err := when.Parse(t.text, now)
		if err != nil {
			return usagef("%s: %w", t.flag, err)
		}
		t.set(span)
	}
	if o := l.opt; !o.Since.IsZero() && !o.Until.IsZero() && o.Since.After(o.Until) {
		return usagef("--since %q is later than --until %q", l.since, l.until)
	}
	return nil
}

// filtered reports whether only some snapshots are asked for, by what they say or did.
func (l *listing) filtered() bool {
	o := l.opt
	return o.Session != "" || o.Trigger != "" || o.Grep != "" || l.since != "" || l.until != "" || len(o.Paths) > 0
}

func (a *app) listJSON(ctx context.Context, e *engine.Engine, l *listing) error {
	list, err := e.List(ctx, &l.opt)
	if len(list) == 0 && err == nil {
		err = l.nowhere()
	}
	if err != nil && len(list) == 0 {
		return err
	}
	m, other := momentsOf(ctx, e)
	a.printJSON(wire.NewList(list, m.here, m.ops, m.pins))
	return errors.Join(err, other) // of some the records are damaged
}

// nowhere is the error of a list of paths that is empty: nothing ever had them.
func (l *listing) nowhere() error {
	alone := *l
	alone.opt.Paths = nil
	if len(l.opt.Paths) == 0 || alone.filtered() {
		return nil
	}
	return fmt.Errorf("%w: none of this worktree ever had %s", engine.ErrNoSnapshot, strings.Join(shownPaths(l.opt.Paths), " or "))
}

// shownPaths are paths as a person would write them.
func shownPaths(paths []string) (out []string) {
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, ":("); ok {
			_, p, _ = strings.Cut(rest, ")")
		}
		out = append(out, quote(engine.Path(p)))
	}
	return out
}

// page is how many snapshots are listed at once, so that the first are seen before
// the others are read.
const page = 256

// list prints the list page by page.
func (a *app) list(ctx context.Context, e *engine.Engine, l *listing) error {
	opt := l.opt
	if !opt.All && (opt.Limit == 0 || opt.Limit > page) {
		opt.Limit = page / 4
	}
	first, err := e.List(ctx, &opt)
	if err != nil && len(first) == 0 {
		return err
	}
	m, other := momentsOf(ctx, e)
	err = errors.Join(err, other)
	if m = m.chosen(ctx, e, l); len(first)+len(m.kept) == 0 && err == nil {
		if err := l.nowhere(); err != nil {
			return err
		}
		a.printNone(l)
		return nil
	}
	a.progress.clear()
	printed := a.paged(func(w io.Writer, how look) error {
		p := &printer{w: w, m: m, l: l, width: a.width(), how: how, graph: newGraph(), left: l.opt.Limit}
		for list := first; ; {
			if bad := p.print(list); bad != nil {
				return bad
			}
			if p.full() {
				return nil
			}
			if opt.All || len(list) < opt.Limit || len(list) == 0 {
				p.restores(time.Time{}) // what is older than the last snapshot
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

// printSnapshots prints snapshots that another command speaks of.
func (a *app) printSnapshots(list []*engine.Snapshot) {
	p := &printer{w: a.out, l: &listing{opt: engine.ListOptions{All: true}}, width: a.width(), how: look{color: colored(a.out)}}
	_ = p.print(list) // what could not be written is told at the end
}

// printNone says why a list is empty, and what to do.
func (a *app) printNone(l *listing) {
	switch {
	case l.opt.Session != "" && l.opt.Grep+l.opt.Trigger+l.since+l.until == "" && len(l.opt.Paths) == 0:
		say(a.err, "no snapshot of session %s; without --session all are listed\n", l.opt.Session)
	case l.filtered():
		fmt.Fprintln(a.err, "no snapshot is like that; with fewer flags more are listed")
	case l.opt.All:
		fmt.Fprintln(a.err, "no snapshot yet; \"rewind snapshot\" records the state of all files")
	case leftOut(a.engine.Warnings()):
		say(a.err, "no snapshot of %s in your own store yet; those in its git repository are not seen while git is left out; \"rewind snapshot\" records the state of all files\n", a.engine.Root())
	default:
		say(a.err, "no snapshot of %s yet; \"rewind snapshot\" records the state of all files, \"rewind list --all\" shows those of other worktrees and systems\n", a.engine.Root())
	}
}

// describe says in a few words what a snapshot was taken for.
func describe(s *engine.Snapshot) string {
	if s.Lost != "" {
		return "NOT WHOLE: " + s.Lost
	}
	if labels := labelsOf(s); len(labels) > 0 {
		return strings.Join(labels, ", ")
	}
	if s.OfRestore() {
		return "what a restore replaced"
	}
	if text := describePrompts(s.Points); text != "" {
		return text
	}
	for _, p := range s.Points {
		if p.Trigger != "" && !byRestore(p) {
			return "(" + p.Trigger + ")"
		}
	}
	return ""
}

// describePrompts says which prompt an agent was about to work on, or had worked
// on. Of a state at which several prompts ended and began it is the newest that
// began: to that one the user wants to go back.
func describePrompts(points []engine.Point) string {
	after := ""
	for _, p := range slices.Backward(points) {
		switch {
		case p.Prompt == "":
		case p.Trigger == "prompt":
			return "before “" + p.Prompt + "”"
		case after == "":
			after = "(" + p.Trigger + ") “" + p.Prompt + "”"
		}
	}
	return after
}

// oneLine keeps labels, which come from prompts, from breaking a table, and shows
// them as plain does.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
	if r := []rune(s); len(r) > 72 {
		s = string(r[:71]) + "…"
	}
	return plain(s)
}

func showCommand(a *app) *cobra.Command {
	c := verb("show ID", "Show one snapshot and what it changed", takes(1, 1, "rewind show @"), func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		s, err := e.Resolve(ctx, args[0])
		if err != nil {
			return err
		}
		before, err := e.Before(ctx, s)
		if err != nil {
			return err
		}
		d, err := e.Diff(ctx, before, s, nil)
		if err != nil {
			return err
		}
		if a.json {
			a.printJSON(wire.NewShown(s, d.Changes))
			return nil
		}
		a.printRecord(s)
		fmt.Fprintln(a.out)
		a.printNames(d.Changes)
		return nil
	})
	return a.jsonFlag(c)
}

func (a *app) printRecord(s *engine.Snapshot) {
	line := func(name, value string) {
		if value != "" {
			say(a.out, "%-9s %s\n", name, value)
		}
	}
	line("snapshot", s.ID.String())
	line("tree", s.Tree.String())
	if !s.Overlay.IsZero() {
		line("overlay", s.Overlay.String()+" (what a git tree cannot hold, and ignored files: in rewind's own store alone)")
	}
	line("time", s.Time.Local().Format(time.RFC3339Nano))
	line("branch", s.Branch)
	line("head", idText(s.Head))
	if s.Where != "." {
		line("worktree", s.Where)
	}
	if s.Source != nil {
		line("source", s.Source.Kind+" "+s.Source.Ref)
		line("commit", s.Source.Commit.String())
	}
	for _, p := range s.Points {
		line("label", oneLine(p.Label))
		line("session", oneLine(p.Session))
		line("entry", oneLine(p.Entry))
		if byRestore(p) {
			line("taken", "by a restore, before it changed files")
		} else {
			line("trigger", oneLine(p.Trigger))
		}
		line("agent", oneLine(p.Agent))
		line("prompt", oneLine(p.Prompt))
	}
	for _, n := range s.Skipped {
		line(leftOutWord(n), quote(n.Path)+": "+n.Reason)
	}
	for _, gap := range wire.Gaps(s) {
		line("limit", gap)
	}
}
