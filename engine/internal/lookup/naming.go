package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/when"
)

// The prefixes of names that say what kind of name they are.
const (
	undoPrefix  = "undo:"  // and the number of an operation
	labelPrefix = "label:" // and a label
	pinPrefix   = "pin:"   // and the name of a pin
	textPrefix  = ":/"     // and a part of a label or prompt
)

// SpeaksOfItself reports whether a name means a snapshot by itself, so that no pin can have it.
func SpeaksOfItself(name string) bool {
	has := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return has("@") || slices.ContainsFunc([]string{undoPrefix, promptPrefix, labelPrefix, pinPrefix, textPrefix}, has)
}

// resolveNamed resolves what says what kind of name it is; false: it does not.
func (r *Reader) resolveNamed(ctx context.Context, text string) (s *records.Snapshot, named bool, err error) {
	for prefix, resolve := range map[string]func(context.Context, string) (*records.Snapshot, error){
		"@": r.resolveAt, promptPrefix: r.resolvePrompt, undoPrefix: r.resolveUndo,
		labelPrefix: r.resolveLabel, pinPrefix: r.resolvePin, textPrefix: r.resolveText,
	} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			s, err = resolve(ctx, rest)
			return s, true, err
		}
	}
	return nil, false, nil
}

// resolveAt resolves what comes after "@": nothing, "~N", or a time in braces.
func (r *Reader) resolveAt(ctx context.Context, rest string) (*records.Snapshot, error) {
	inner, ok := strings.CutPrefix(rest, "{")
	if !ok {
		return r.resolveBack(ctx, rest)
	}
	text, ok := strings.CutSuffix(inner, "}")
	if !ok {
		return nil, fmt.Errorf("%w: the brace of \"@%s\" is not closed", ErrNoSnapshot, rest)
	}
	now := time.Now()
	moment, err := when.Parse(text, now)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoSnapshot, err)
	case moment.From.After(now):
		return nil, fmt.Errorf("%w: %s is yet to come", ErrNoSnapshot, moment.From.Format(time.DateTime))
	}
	list, err := r.List(ctx, &Options{OnPurpose: true, Limit: 1, Until: moment.To})
	if err != nil || len(list) > 0 {
		return first(list), err
	}
	oldest, err := r.oldest(ctx)
	if err != nil || oldest == nil {
		return nil, errors.Join(err, nothingYet())
	}
	return nil, fmt.Errorf("%w: nothing is that old: %s, and the oldest of this worktree is of %s", ErrNoSnapshot, moment.To.Format(time.DateTime), oldest.Time.In(now.Location()).Format(time.DateTime))
}

func nothingYet() error {
	return fmt.Errorf("%w: nothing was recorded in this worktree on purpose yet (\"rewind snapshot\" does that)", ErrNoSnapshot)
}

func first(list []*records.Snapshot) *records.Snapshot {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// oldest returns the worktree's oldest snapshot on purpose, nil if there is none.
func (r *Reader) oldest(ctx context.Context) (*records.Snapshot, error) {
	list, err := r.List(ctx, &Options{OnPurpose: true})
	if len(list) == 0 {
		return nil, err
	}
	return list[len(list)-1], nil
}

// resolveLabel finds the one snapshot of this worktree that has a label.
func (r *Reader) resolveLabel(ctx context.Context, label string) (*records.Snapshot, error) {
	if label == "" {
		return nil, fmt.Errorf("%w: which label? (\"rewind list\" shows them)", ErrNoSnapshot)
	}
	labelled := func(s *records.Snapshot, same func(a, b string) bool) bool {
		return slices.ContainsFunc(s.Points, func(p records.Point) bool { return p.Label != "" && same(p.Label, label) })
	}
	list, err := r.List(ctx, &Options{Wants: func(s *records.Snapshot) bool { return labelled(s, strings.EqualFold) }})
	if exact := slices.DeleteFunc(slices.Clone(list), func(s *records.Snapshot) bool {
		return !labelled(s, func(a, b string) bool { return a == b })
	}); len(exact) > 0 {
		list = exact
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("%w: none of this worktree has the label %q (%s%s finds a part of one)", ErrNoSnapshot, label, textPrefix, label)
	case len(list) > 1:
		return nil, ambiguous(fmt.Sprintf("%d snapshots have the label %q", len(list), label), list)
	}
	return list[0], nil
}

// resolveText finds the newest snapshot of this worktree of which a label or prompt
// has a text, whatever the case.
func (r *Reader) resolveText(ctx context.Context, text string) (*records.Snapshot, error) {
	if text == "" {
		return nil, fmt.Errorf("%w: which text? (%s finds the newest of which a label or prompt has it)", ErrNoSnapshot, textPrefix+"TEXT")
	}
	list, err := r.List(ctx, &Options{Grep: text, Limit: 1})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: no label or prompt of this worktree has %q", ErrNoSnapshot, text)
	}
	return first(list), err
}

// resolvePin finds what was pinned under a name.
func (r *Reader) resolvePin(ctx context.Context, name string) (*records.Snapshot, error) {
	pins, err := r.Pins(ctx)
	if err != nil {
		return nil, err
	}
	if id := pins[name]; !id.IsZero() {
		return r.Find(ctx, id)
	}
	return nil, fmt.Errorf("%w: nothing is pinned as %q (\"rewind pin\" lists the pins)", ErrNoSnapshot, name)
}

// candidatesMax is how many of those that a name could mean are named.
const candidatesMax = 4

// ambiguous is the error of a name that could mean any of a list.
func ambiguous(what string, list []*records.Snapshot) error {
	var names []string
	for _, s := range list[:min(len(list), candidatesMax)] {
		names = append(names, s.ID.Short()+" ("+s.Time.Local().Format(time.DateTime)+")")
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d older ones", more))
	}
	return fmt.Errorf("%w: %s: %s", ErrAmbiguous, what, strings.Join(names, ", "))
}
