package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Resolve turns what a person types into a snapshot: a whole id, the name of a
// pin, a unique prefix of at least four digits, "@" for the worktree's newest
// snapshot that was recorded on purpose, "@~N" for the one N before it, "@{TIME}" for
// what "@" was then, "undo:N" for what the N-th last restore, undo or redo replaced,
// "prompt:ID" for the state before an agent worked on a prompt, "label:NAME" for the
// one with that label, "pin:NAME" for what has that name, ":/TEXT" for the newest of
// which a label or prompt has the text. What could mean several is [ErrAmbiguous],
// which names them.
func (r *Reader) Resolve(ctx context.Context, text string) (*records.Snapshot, error) {
	if s, named, err := r.resolveNamed(ctx, text); named {
		return s, err
	}
	if id, err := oid.Parse(text); err == nil {
		return r.Find(ctx, id)
	}
	pins, err := r.Pins(ctx)
	if err != nil {
		return nil, err
	}
	pinned := pins[text]
	if len(text) < 4 || strings.Trim(text, "0123456789abcdefABCDEF") != "" {
		if !pinned.IsZero() {
			return r.Find(ctx, pinned)
		}
		return nil, fmt.Errorf("%w: %q is neither an id, a prefix of four or more digits, the name of a pin, @, @~N, @{TIME}, undo:N, label:NAME, pin:NAME, :/TEXT, nor prompt:ID", ErrNoSnapshot, text)
	}
	s, err := r.resolvePrefix(ctx, strings.ToLower(text))
	switch {
	case pinned.IsZero():
		return s, err
	case errors.Is(err, ErrNoSnapshot):
		return r.Find(ctx, pinned)
	case err == nil && s.ID != pinned:
		return nil, fmt.Errorf("%w: %s names the pinned %s and begins %s", ErrAmbiguous, text, pinned.Short(), s.ID.Short())
	}
	return s, err
}

func (r *Reader) resolveBack(ctx context.Context, rest string) (*records.Snapshot, error) {
	back, text := 0, "@"+rest
	if rest != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(rest, "~"))
		if err != nil || n < 0 || rest[0] != '~' {
			return nil, fmt.Errorf("%w: %q is not @, @~N or @{TIME}", ErrNoSnapshot, text)
		}
		back = n
	}
	list, err := r.List(ctx, &Options{OnPurpose: true, Limit: back + 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, nothingYet()
	}
	if len(list) <= back {
		return nil, fmt.Errorf("%w: %s (this worktree has %d recorded on purpose)", ErrNoSnapshot, text, len(list))
	}
	return list[back], nil
}

func (r *Reader) resolvePrefix(ctx context.Context, prefix string) (*records.Snapshot, error) {
	f := r.Finder()
	if err := f.readAliases(ctx); err != nil {
		return nil, err
	}
	ids := map[oid.ID]bool{}
	for id, now := range f.aliases {
		if strings.HasPrefix(id.String(), prefix) {
			ids[now] = true
		}
	}
	var matches []*records.Snapshot
	for id := range ids {
		s, err := r.Record(ctx, id)
		if err != nil {
			return nil, err
		}
		matches = append(matches, s)
	}
	if len(matches) == 0 {
		beside, err := r.beside(ctx, false, nil)
		if err != nil {
			return nil, err
		}
		matches = slices.DeleteFunc(beside, func(s *records.Snapshot) bool {
			return !strings.HasPrefix(s.ID.String(), prefix) && !strings.HasPrefix(s.Source.Commit.String(), prefix)
		})
	}
	switch newestFirst(matches); len(matches) {
	case 0:
		return nil, fmt.Errorf("%w: %s", ErrNoSnapshot, prefix)
	case 1:
		return matches[0], r.Fill(ctx, matches[0])
	}
	return nil, ambiguous(fmt.Sprintf("%s begins %d ids", prefix, len(matches)), matches)
}

// resolveUndo finds the snapshot of what the N-th last operation replaced.
func (r *Reader) resolveUndo(ctx context.Context, number string) (*records.Snapshot, error) {
	text := undoPrefix + number
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || number[0] == '+' {
		return nil, fmt.Errorf("%w: %q is not undo:N, with N from 1", ErrNoSnapshot, text)
	}
	ops, err := records.Read(ctx, r.View, func(v *records.View) ([]*records.Operation, error) { return v.Operations(n) })
	if err != nil {
		return nil, err
	}
	if len(ops) < n {
		return nil, fmt.Errorf("%w: %s (restores, merges, undos and redos of this worktree so far: %d)", ErrNoSnapshot, text, len(ops))
	}
	s, err := r.Find(ctx, ops[n-1].From)
	if errors.Is(err, ErrNoSnapshot) {
		err = fmt.Errorf("%w: what %s names was pruned", ErrNoSnapshot, text)
	}
	return s, err
}

// Pins lists the snapshots that were pinned by name.
func (r *Reader) Pins(ctx context.Context) (map[string]oid.ID, error) {
	pins, err := records.Read(ctx, r.View, func(v *records.View) (map[string]oid.ID, error) { return v.Pins(), nil })
	if pins == nil {
		pins = map[string]oid.ID{}
	}
	return pins, err
}
