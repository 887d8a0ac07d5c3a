package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/git/foreign"
	"github.com/seed-82afce7a/rewind/git/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A finder finds snapshots by ids that come from outside: what was typed, what
// a client asks for, what a ledger names. It knows those of the store under
// each of their ids, and what git has beside the store; both are read once for
// all that it is asked. It is made for one request.
type finder struct {
	e       *Engine
	aliases map[oid.ID]oid.ID // nil until one is needed
	out     *outsiders        // nil until something of git's is asked for
	beside  []*Snapshot       // the checkpoints of other systems in git
	listed  bool              // they were looked for
}

// find returns the snapshot that an id means.
func (f *finder) find(ctx context.Context, id oid.ID) (*Snapshot, error) {
	if f.aliases == nil {
		s, err := f.e.findRecord(ctx, id)
		if !errors.Is(err, ErrNoSnapshot) {
			return s, err
		}
		if err := f.readAliases(ctx); err != nil {
			return nil, err
		}
	}
	if now := f.aliases[id]; !now.IsZero() {
		return f.e.findRecord(ctx, now)
	}
	s, err := f.inGit(ctx, id)
	if s == nil && err == nil {
		err = fmt.Errorf("%w: %v", ErrNoSnapshot, id)
	}
	return s, err
}

func (f *finder) readAliases(ctx context.Context) error {
	f.aliases = map[oid.ID]oid.ID{}
	return f.e.view(ctx, func(v *records.View) (err error) {
		f.aliases, err = v.Aliases()
		return err
	})
}

// inGit returns the snapshot that git has under an id, nil if it has none.
func (f *finder) inGit(ctx context.Context, id oid.ID) (s *Snapshot, err error) {
	if f.e.repo == nil || !f.e.repo.Has(id) {
		return nil, nil
	}
	if f.out == nil {
		if f.out, err = f.e.outsiders(ctx); err != nil {
			return nil, err
		}
	}
	if kind, payload, err := f.e.repo.Read(id); err == nil && kind == oid.Commit {
		if c, err := gitbridge.DecodeSnapshot(payload, f.e.alg); err == nil {
			return f.out.rebuild(ctx, id, c), nil
		}
	}
	if c, ok := foreign.HookSnapshot(f.e.repo, id); ok { // a ledger names many of them
		return f.out.snapshot(c), nil
	}
	if !f.listed {
		if f.beside, err = f.out.checkpoints(ctx, nil, nil); err != nil {
			return nil, err
		}
		f.listed = true
	}
	if i := slices.IndexFunc(f.beside, func(s *Snapshot) bool { return s.ID == id }); i >= 0 {
		return f.beside[i], nil
	}
	return nil, nil
}

// exists reports whether an id means a snapshot that can be restored.
func (f *finder) exists(ctx context.Context, id oid.ID) bool {
	if id.IsZero() {
		return false
	}
	_, err := f.find(ctx, id)
	return err == nil
}

// Find returns the snapshot with exactly this id, also with one that it had
// before a purge or as a checkpoint before its import: of any worktree of the
// store, or else a checkpoint that git has.
func (e *Engine) Find(ctx context.Context, id oid.ID) (*Snapshot, error) {
	s, err := (&finder{e: e}).find(ctx, id)
	if err == nil {
		err = e.fill(ctx, s)
	}
	return s, err
}

// Resolve turns what a person types into a snapshot: a whole id, the name of a
// pin, a unique prefix of at least four digits, "@" for the worktree's newest
// snapshot that was recorded on purpose, "@~N" for the one N before it, "undo:N"
// for what the N-th last restore, undo or redo replaced, "prompt:ID" for the state
// before an agent worked on a prompt. A pin's name that begins another snapshot's
// id is [ErrAmbiguous].
func (e *Engine) Resolve(ctx context.Context, text string) (*Snapshot, error) {
	if rest, ok := strings.CutPrefix(text, "@"); ok {
		return e.resolveBack(ctx, text, rest)
	}
	if id, ok := strings.CutPrefix(text, promptPrefix); ok {
		return e.resolvePrompt(ctx, id)
	}
	if number, ok := strings.CutPrefix(text, undoPrefix); ok {
		return e.resolveUndo(ctx, text, number)
	}
	if id, err := oid.Parse(text); err == nil {
		return e.Find(ctx, id)
	}
	pins, err := e.Pins(ctx)
	if err != nil {
		return nil, err
	}
	pinned := pins[text]
	if len(text) < 4 || strings.Trim(text, "0123456789abcdefABCDEF") != "" {
		if !pinned.IsZero() {
			return e.Find(ctx, pinned)
		}
		return nil, fmt.Errorf("%w: %q is neither an id, a prefix of four or more digits, the name of a pin, @, @~N, nor undo:N", ErrNoSnapshot, text)
	}
	s, err := e.resolvePrefix(ctx, strings.ToLower(text))
	switch {
	case pinned.IsZero():
		return s, err
	case errors.Is(err, ErrNoSnapshot):
		return e.Find(ctx, pinned)
	case err == nil && s.ID != pinned:
		return nil, fmt.Errorf("%w: %s names the pinned %v and begins %v", ErrAmbiguous, text, pinned, s.ID)
	}
	return s, err
}

func (e *Engine) resolveBack(ctx context.Context, text, rest string) (*Snapshot, error) {
	back := 0
	if rest != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(rest, "~"))
		if err != nil || n < 0 || rest[0] != '~' {
			return nil, fmt.Errorf("%w: %q is not @ or @~N", ErrNoSnapshot, text)
		}
		back = n
	}
	list, err := e.List(ctx, &ListOptions{OnPurpose: true, Limit: back + 1})
	if err != nil {
		return nil, err
	}
	if len(list) <= back {
		return nil, fmt.Errorf("%w: %s (this worktree has %d recorded on purpose)", ErrNoSnapshot, text, len(list))
	}
	return list[back], nil
}

func (e *Engine) resolvePrefix(ctx context.Context, prefix string) (*Snapshot, error) {
	f := &finder{e: e}
	if err := f.readAliases(ctx); err != nil {
		return nil, err
	}
	ids := map[oid.ID]bool{}
	for id, now := range f.aliases {
		if strings.HasPrefix(id.String(), prefix) {
			ids[now] = true
		}
	}
	var matches []*Snapshot
	for id := range ids {
		s, err := e.findRecord(ctx, id)
		if err != nil {
			return nil, err
		}
		matches = append(matches, s)
	}
	if len(matches) == 0 {
		beside, err := e.beside(ctx, false, nil)
		if err != nil {
			return nil, err
		}
		matches = slices.DeleteFunc(beside, func(s *Snapshot) bool {
			return !strings.HasPrefix(s.ID.String(), prefix) && !strings.HasPrefix(s.Source.Commit.String(), prefix)
		})
	}
	switch newestFirst(matches); len(matches) {
	case 0:
		return nil, fmt.Errorf("%w: %s", ErrNoSnapshot, prefix)
	case 1:
		return matches[0], e.fill(ctx, matches[0])
	}
	return nil, fmt.Errorf("%w: %s begins %d ids, among them those of %v and %v", ErrAmbiguous, prefix, len(matches), matches[0].ID, matches[1].ID)
}
