package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/capture"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ListOptions choose snapshots. The zero value is all of this worktree. All is of every
// worktree that shares the store, with the checkpoints of other systems; Limit bounds how
// many; OnPurpose leaves out what only restores took; Older goes on behind a snapshot. Session,
// Since, Until, Trigger, Grep and Paths choose by what is recorded of each, Wants by a function;
// Changes tells what each one changed.
type ListOptions = lookup.Options

// List returns snapshots, newest first. Where the store has none, as after it
// was deleted, they are those that the store ref keeps. With an [ErrDamaged] come
// those whose records are whole.
func (e *Engine) List(ctx context.Context, opt *ListOptions) ([]*Snapshot, error) {
	return e.lookup.List(ctx, opt)
}

// Log returns the snapshots that changed a file or directory, newest first, at most so
// many (0: all). It goes on with another name where only the name changed. A path that
// none of this worktree ever had is an [ErrNoSnapshot].
func (e *Engine) Log(ctx context.Context, path string, limit int) ([]Touch, error) {
	log, err := e.lookup.Log(ctx, path, limit)
	if len(log) == 0 && err == nil {
		err = fmt.Errorf("%w: none of this worktree ever had %q", ErrNoSnapshot, path)
	}
	return log, err
}

// Find turns what a person types, or a program keeps, into a snapshot: a whole id, also
// one that the snapshot had before a purge or as a checkpoint before its import, of any
// worktree of the store, or else of a checkpoint that git has; the name of a
// pin, a unique prefix of at least four digits, "@" for the worktree's newest
// snapshot that was recorded on purpose, "@~N" for the one N before it, "@{TIME}" for
// what "@" was then, "undo:N" for what the N-th last restore, undo or redo replaced,
// "prompt:ID" for the state before an agent worked on a prompt, "label:NAME" for the
// one with that label, "pin:NAME" for what has that name, ":/TEXT" for the newest of
// which a label or prompt has the text. What could mean several is [ErrAmbiguous],
// which names them.
func (e *Engine) Find(ctx context.Context, text string) (*Snapshot, error) {
	return e.lookup.Resolve(ctx, text)
}

// Before returns the snapshot that s is compared with to tell what it changed: the
// one at which the files stood before it; of a checkpoint, the one of the same
// system before it. It is nil if there is none.
func (e *Engine) Before(ctx context.Context, s *Snapshot) (*Snapshot, error) {
	return e.lookup.Base(ctx, s)
}

// Here returns the snapshot at which the files of the worktree stand, before
// what was edited since: the one that was restored last, as a whole, if nothing
// was recorded on purpose since; else the newest that was, which is "@". After an
// undo or redo it is the one at which they stood before what was taken back. It
// is nil if there is none.
func (e *Engine) Here(ctx context.Context) (*Snapshot, error) { return e.lookup.Here(ctx) }

// Operations returns what was ever restored, undone and redone in the worktree,
// newest first. The N-th is what "undo:N" speaks of.
func (e *Engine) Operations(ctx context.Context) ([]*Operation, error) {
	return e.lookup.Operations(ctx)
}

// Pins lists the snapshots that were pinned by name.
func (e *Engine) Pins(ctx context.Context) (map[string]ID, error) { return e.lookup.Pins(ctx) }

// Pin gives a snapshot a name. No prune drops a snapshot that has one. A name
// that another snapshot had moves to this one; the zero id takes it away, if anything
// has it. A checkpoint that only another system keeps is [ErrRefused]: when that drops it, no pin of ours would hold it.
func (e *Engine) Pin(ctx context.Context, name string, id ID) error {
	if id.IsZero() {
		if name == "" {
			return nil
		}
		return e.updateIfThere(ctx, func(u *records.Update) error { return u.Pin(name, id) })
	}
	if name == "" {
		return fmt.Errorf("%w: a pin needs a name", ErrRefused)
	}
	if lookup.SpeaksOfItself(name) {
		return fmt.Errorf("%w: a pin cannot be called %q: that means a snapshot already", ErrRefused, name)
	}
	s, held, err := e.findHeld(ctx, id)
	if err != nil {
		return err
	}
	return e.update(ctx, func(u *records.Update) error {
		now, err := u.Find(s.ID)
		switch {
		case now != nil && err == nil:
			return u.Pin(name, now.ID) // a purge may have given it another id
		case held && err == nil:
			return u.Pin(name, s.ID)
		}
		return cmp.Or(err, fmt.Errorf("%w: %s was pruned meanwhile", ErrNoSnapshot, id.Short()))
	})
}

// findHeld finds a snapshot that is to have a name, and makes sure that the store can
// keep it. Held: our ref keeps it, and the store has no record of it.
func (e *Engine) findHeld(ctx context.Context, id oid.ID) (s *Snapshot, held bool, err error) {
	if s, err = e.lookup.Find(ctx, id); err != nil {
		return nil, false, err
	}
	_, unknown := e.lookup.Record(ctx, s.ID)
	held = errors.Is(unknown, ErrNoSnapshot) && s.Source != nil && e.repo != nil && e.repo.Keeps(ctx, s.ID)
	if errors.Is(unknown, ErrNoSnapshot) && !held {
		return nil, false, fmt.Errorf("%w: another system alone keeps %s, and no name of ours can hold it (rewind import takes it over)", ErrRefused, s.ID.Short())
	}
	if _, err = e.needStore(ctx); err == nil {
		err = e.adopt(ctx) // the store may be new, and its record lost
	}
	return s, held, err
}

// Label gives a snapshot one more label, which is its newest. With remove it takes
// that label away; that it has none of this text is an [ErrNoSnapshot]. Neither
// changes its id, nor where the files stand.
func (e *Engine) Label(ctx context.Context, id ID, text string, remove bool) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%w: a label needs a text", ErrRefused)
	}
	s, _, err := e.findHeld(ctx, id)
	if err != nil {
		return err
	}
	return e.update(ctx, func(u *records.Update) error {
		now, err := u.Find(s.ID)
		if err != nil || now == nil {
			return cmp.Or(err, fmt.Errorf("%w: the store has no record of %v that could have a label", ErrRefused, id))
		}
		if changed, err := u.Label(now, text, remove); err != nil || changed || !remove {
			return err
		}
		return fmt.Errorf("%w: %v has no label %q", ErrNoSnapshot, id, text)
	})
}

// newLookup makes what finds and lists snapshots.
func (e *Engine) newLookup() *lookup.Reader {
	return &lookup.Reader{
		View: e.view, Update: e.updateIfThere, Objects: e.objects,
		Differ: differ{e},
		Select: func(ctx context.Context, paths []string) (lookup.Selection, error) {
			return plan.Select(paths, e.existsIn(ctx, e.newest(ctx)))
		},
		Outside: e.outside,
	}
}

// newest returns the snapshot at which the files stand, nil if that cannot be told:
// then a name is taken for what it looks like.
func (e *Engine) newest(ctx context.Context) *Snapshot {
	s, err := e.Here(ctx)
	if err != nil {
		return nil
	}
	return s
}

// outside opens what git has and the store has no record of. There must be git.
func (e *Engine) outside(ctx context.Context) (*lookup.Outside, error) {
	return (&lookup.Outside{
		Repo: e.repo, View: e.view, Rules: capture.RulesOf(e.rules().Read(), e.alg), Umask: capture.Umask(e.root),
		Whole:         e.hasOverlay,
		Conversations: e.sessions().Bind, Getenv: e.opt.Getenv, Home: e.home(),
	}).Open(ctx)
}

// hasOverlay reports whether everything that an overlay needs is there.
func (e *Engine) hasOverlay(ctx context.Context, overlay oid.ID) bool {
	for o, err := range e.reach(e.objects.Trees(ctx, objects.Reading{})).Overlay(overlay) {
		if err != nil || !e.objects.Has(ctx, o.ID) {
			return false
		}
	}
	return true
}

// there returns the function that says whether an object is in the store or in git.
func (e *Engine) there(ctx context.Context) func(oid.ID) bool {
	return func(id oid.ID) bool { return e.objects.Has(ctx, id) }
}
