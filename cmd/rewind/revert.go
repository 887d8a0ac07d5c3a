package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/engine"
)

// mergedBy says in a word what a command has done that merges.
var mergedBy = map[string]string{"revert": "reverted", "apply": "applied", "adopt": "adopted"}

func revertCommand(a *app) *cobra.Command {
	return a.mergeCommand("revert", "Take back what snapshots changed, and keep what was changed since", true)
}

func applyCommand(a *app) *cobra.Command {
	return a.mergeCommand("apply", "Bring what snapshots changed to the present, and keep what that has", false)
}

func (a *app) mergeCommand(name, short string, back bool) *cobra.Command {
	var r restoring
	opt := &engine.RestoreOptions{}
	c := verb(name+" ID... [-- PATH...]", short, takes(1, -1, "rewind "+name+" @"), func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		ids, paths, err := splitPaths(c, args, len(args))
		switch {
		case err != nil:
			return err
		case len(ids) == 0:
			return usagef("%s: ID is missing before --, as in: rewind %s @ -- FILE", name, name)
		case c.ArgsLenAtDash() == len(args):
			return usagef("%s: no path behind -- (leave it out to %s everything)", name, name)
		}
		if opt.Paths, err = a.inside(paths); err != nil {
			return err
		}
		spans, err := spansOf(ctx, e, ids, func(id string) (*engine.Snapshot, error) { return a.snapshotOf(ctx, e, id) })
		if err != nil {
			return err
		}
		merge, label := spans.merged(back)
		opt.Label = label
		r.hint, r.merging = flagHint(paths), &opt.Markers
		r.plan = func(ctx context.Context, e *engine.Engine) (*engine.Plan, error) { return e.PlanMerge(ctx, merge, opt) }
		r.carryOut = func(ctx context.Context, e *engine.Engine) (*engine.Restored, error) {
			return e.Merge(ctx, name, merge, opt)
		}
		return a.restore(ctx, e, &r)
	})
	markersFlag(c, opt)
	c.Flags().BoolVar(&opt.Ignored, "ignored", false, "ignored files too that are there and differ, not only those that are gone")
	return a.restoreFlags(c, &r)
}

// A stretch is a span of history with the snapshot that it ends at.
type stretch struct {
	engine.Span
	end  *engine.Snapshot
	text string // what was typed
}

type stretches []stretch

// spansOf reads what a person types: an id stands for what that snapshot changed,
// FROM..TO for what changed between two. They are returned newest first, each once.
func spansOf(ctx context.Context, e *engine.Engine, texts []string, find func(string) (*engine.Snapshot, error)) (list stretches, err error) {
	for _, text := range texts {
		from, to, err := endsOf(text, find)
		if err != nil {
			return nil, err
		}
		s := stretch{end: to, text: text}
		if s.Span, err = spanOf(ctx, e, from, to); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(other stretch) bool { return other.Span == s.Span }) {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b stretch) int { return b.end.Time.Compare(a.end.Time) })
	return list, nil
}

// spanOf returns what changed from one snapshot to a later one of the same worktree;
// with from nil, what the other one changed itself.
func spanOf(ctx context.Context, e *engine.Engine, from, to *engine.Snapshot) (s engine.Span, err error) {
	itself := from == nil
	if itself {
		from, err = e.Before(ctx, to)
	}
	switch {
	case err != nil:
	case from == nil:
		err = usagef("%s is the first of its worktree: there is nothing before it to compare it with", short(to.ID))
	case itself:
	case from.Where != to.Where:
		err = usagef("%s and %s are of different worktrees", short(from.ID), short(to.ID))
	case from.ID == to.ID:
		err = usagef("from %s to itself nothing changed", short(to.ID))
	case !from.Time.Before(to.Time):
		err = usagef("%s was recorded after %s; the older one stands first", short(from.ID), short(to.ID))
	}
	if err != nil {
		return s, err
	}
	return engine.Span{From: from.ID, To: to.ID}, nil
}

// endsOf reads one of them. An id may have two dots in it, as the name of a pin.
func endsOf(text string, find func(string) (*engine.Snapshot, error)) (from, to *engine.Snapshot, err error) {
	to, err = find(text)
	first, last, isRange := strings.Cut(text, "..")
	if !isRange || err == nil || !errors.Is(err, engine.ErrNoSnapshot) {
		return nil, to, err
	}
	if first == "" || last == "" {
		return nil, nil, usagef("%q: a range has two ends, as in @~3..@", text)
	}
	if from, err = find(first); err == nil {
		to, err = find(last)
	}
	return from, to, err
}

// merged returns the spans in the order in which they are merged: to take them back
// the newest first. Label says what is merged in.
func (l stretches) merged(back bool) (spans []engine.Span, label string) {
	var texts []string
	for _, s := range l {
		if back {
			s.From, s.To = s.To, s.From
		}
		spans, texts = append(spans, s.Span), append(texts, s.text)
	}
	if back {
		return spans, "without " + strings.Join(texts, " ")
	}
	slices.Reverse(spans)
	slices.Reverse(texts)
	return spans, strings.Join(texts, " ")
}
