package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/wire"
)

func listCommand(a *app) *cobra.Command {
	var opt engine.ListOptions
	c := verb("list", "List snapshots, newest first", nothing, func(c *cobra.Command, _ []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		if opt.Limit < 0 {
			return usagef("--limit %d is negative", opt.Limit)
		}
		opt.Skipped = func(n engine.Note) { a.printSkipped([]engine.Note{n}) }
		opt.OnPurpose = !opt.All && !a.json
		list, err := e.List(ctx, &opt)
		if err != nil && len(list) == 0 {
			return err
		}
		m, other := momentsOf(ctx, e)
		err = errors.Join(err, other)
		if a.json {
			a.printJSON(wire.NewList(list, m.here, m.ops))
		} else if m = m.chosen(ctx, e, &opt); len(list)+len(m.kept) == 0 && err == nil {
			a.printNone(&opt)
		} else {
			a.printList(list, m, opt.All)
		}
		return err // of some the records are damaged
	})
	f := c.Flags()
	f.BoolVar(&opt.All, "all", false, "of every worktree that shares the store, with undo snapshots by their ids, and the checkpoints of other systems")
	f.StringVar(&opt.Session, "session", "", "only those of the conversation with this `id`")
	f.IntVar(&opt.Limit, "limit", 0, "at most `N` snapshots; 0: all")
	return a.jsonFlag(c)
}

// printNone says why a list is empty, and what to do.
func (a *app) printNone(opt *engine.ListOptions) {
	switch {
	case opt.Session != "":
		say(a.err, "no snapshot of session %s; without --session all are listed\n", opt.Session)
	case opt.All:
		fmt.Fprintln(a.err, "no snapshot yet; \"rewind snapshot\" records the state of all files")
	default:
		say(a.err, "no snapshot of %s yet; \"rewind snapshot\" records the state of all files, \"rewind list --all\" shows those of other worktrees and systems\n", a.engine.Root())
	}
}

// printList prints snapshots, newest first, and what restores replaced: between
// them, or with all in the rows of the undo snapshots.
func (a *app) printList(list []*engine.Snapshot, m moments, all bool) {
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	line := func(id string, at time.Time, columns ...string) {
		columns = append([]string{id, at.Local().Format(time.DateTime), age(time.Since(at))}, columns...)
		fmt.Fprintln(w, strings.TrimRight(strings.Join(columns, "\t"), "\t "))
	}
	next := 0
	restores := func(since time.Time) {
		for ; !all && next < len(m.ops) && m.ops[next].Started.After(since); next++ {
			if m.kept[m.ops[next].From] {
				line(fmt.Sprintf("undo:%d", next+1), m.ops[next].Started, m.replaced(next))
			}
		}
	}
	for _, s := range list {
		restores(s.Time)
		where := ""
		if all && s.Where != "." {
			where = s.Where + system(s) // what is imported is of no worktree
		}
		line(short(s.ID), s.Time, m.describe(s), plain(where))
	}
	if !m.cut {
		restores(time.Time{})
	}
	w.Flush()
}

// describe says in a few words what a snapshot was taken for.
func describe(s *engine.Snapshot) string {
	if s.Lost != "" {
		return "NOT WHOLE: " + s.Lost
	}
	var labels []string // of a state that was recorded again under another label, the newest first
	for _, p := range slices.Backward(s.Points) {
		if p.Label != "" && !slices.Contains(labels, p.Label) {
			labels = append(labels, p.Label)
		}
	}
	if len(labels) > 0 {
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
	line("overlay", idText(s.Overlay))
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
