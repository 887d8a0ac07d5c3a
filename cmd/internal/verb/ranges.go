package verb

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/engine"
)

// A stretch is a range of history with the snapshot that it ends at.
type stretch struct {
	engine.Range
	end  *engine.Snapshot
	text string // what was typed
}

type stretches []stretch

// RangesOf reads what a person types: an id stands for what that snapshot changed,
// FROM..TO for what changed between two. They are returned newest first, each once.
func RangesOf(ctx context.Context, e *engine.Engine, texts []string, find func(string) (*engine.Snapshot, error)) (list stretches, err error) {
	for _, text := range texts {
		from, to, err := endsOf(text, find)
		if err != nil {
			return nil, err
		}
		s := stretch{end: to, text: text}
		if s.Range, err = rangeOf(ctx, e, from, to); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(other stretch) bool { return other.Range == s.Range }) {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b stretch) int { return b.end.Time.Compare(a.end.Time) })
	return list, nil
}

// rangeOf returns what changed from one snapshot to a later one of the same worktree;
// with from nil, what the other one changed itself.
func rangeOf(ctx context.Context, e *engine.Engine, from, to *engine.Snapshot) (s engine.Range, err error) {
	itself := from == nil
	if itself {
		from, err = e.Before(ctx, to)
	}
	switch {
	case err != nil:
	case from == nil:
		err = exit.Usagef("%s is the first of its worktree: there is nothing before it to compare it with", to.ID.Short())
	case itself:
	case from.Where != to.Where:
		err = exit.Usagef("%s and %s are of different worktrees", from.ID.Short(), to.ID.Short())
	case from.ID == to.ID:
		err = exit.Usagef("from %s to itself nothing changed", to.ID.Short())
	case !from.Time.Before(to.Time):
		err = exit.Usagef("%s was recorded after %s; the older one stands first", from.ID.Short(), to.ID.Short())
	}
	if err != nil {
		return s, err
	}
	return engine.Range{From: from.ID, To: to.ID}, nil
}

// endsOf reads one of them. An id may have two dots in it, as the name of a pin.
func endsOf(text string, find func(string) (*engine.Snapshot, error)) (from, to *engine.Snapshot, err error) {
	to, err = find(text)
	first, last, isRange := strings.Cut(text, "..")
	if !isRange || err == nil || !errors.Is(err, engine.ErrNoSnapshot) {
		return nil, to, err
	}
	if first == "" || last == "" {
		return nil, nil, exit.Usagef("%q: a range has two ends, as in @~3..@", text)
	}
	if from, err = find(first); err == nil {
		to, err = find(last)
	}
	return from, to, err
}

// Merged returns the ranges in the order in which they are merged: to take them back
// the newest first. Label says what is merged in.
func (l stretches) Merged(back bool) (ranges []engine.Range, label string) {
	var texts []string
	for _, s := range l {
		if back {
			s.From, s.To = s.To, s.From
		}
		ranges, texts = append(ranges, s.Range), append(texts, s.text)
	}
	if back {
		return ranges, "without " + strings.Join(texts, " ")
	}
	slices.Reverse(ranges)
	slices.Reverse(texts)
	return ranges, strings.Join(texts, " ")
}
