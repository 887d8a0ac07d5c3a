package fork

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine"
)

// adopt is what the history calls it.
const adopt = "adopt"

// An Adoption is what was done in a fork, to be merged into the present.
type Adoption struct {
	Dir    string           // of the fork
	Now    *engine.Snapshot // what is there, recorded
	Ranges []engine.Range   // what is merged

	fork     *Fork
	registry registry
}

// Adopt records what is in a fork, and says what of it is to be merged into the
// worktree of e: what changed since it was made. Where the
// worktree still has all of what an earlier adoption brought, it is what changed since
// that one. Of the worktree it changes nothing. The paths of the options limit it.
func Adopt(ctx context.Context, e *engine.Engine, dir string, open *engine.Options, op engine.Op) (*Adoption, error) {
	f, r, err := find(ctx, e, dir)
	if err != nil {
		return nil, err
	}
	switch f.state() {
	case Gone:
		return nil, fmt.Errorf("%w: %s is not there any more", ErrNone, f.Dir)
	case Another:
		return nil, fmt.Errorf("%w: %s", ErrAnother, f.Dir)
	case Unfinished:
		return nil, fmt.Errorf("%w: %s was interrupted while it was made (rewind forks --remove removes it)", ErrNone, f.Dir)
	}
	there, err := f.open(ctx, e, open)
	if err != nil {
		return nil, err
	}
	defer there.Close()
	if there.Root() == e.Root() {
		return nil, fmt.Errorf("%w: %s is this worktree", ErrPlace, f.Dir)
	}
	base, now, err := f.record(ctx, there)
	if err != nil {
		return nil, fmt.Errorf("record what is in %s: %w", f.Dir, err)
	}
	a := &Adoption{Dir: f.Dir, Now: now, fork: f, registry: r}
	a.Ranges, err = f.ranges(ctx, e, engine.Range{From: base.ID, To: now.ID}, op)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// ranges returns what of all that was done in the fork is to be merged: what was done
// since the last adoption, if the present still has all of that one. What that one left
// as it is, such as an ignored file, is left and named again.
func (f *Fork) ranges(ctx context.Context, e *engine.Engine, all engine.Range, op engine.Op) ([]engine.Range, error) {
	if f.Adopted.IsZero() {
		return []engine.Range{all}, nil
	}
	last := engine.Range{From: f.base(), To: f.Adopted}
	op.Verb, op.Ranges, op.Markers = adopt, []engine.Range{last}, false
	p, err := e.Plan(ctx, op)
	since := engine.Range{From: f.Adopted, To: all.To}
	switch {
	case errors.Is(err, engine.ErrNoSnapshot): // pruned, or one of the paths is new
		return []engine.Range{all}, nil
	case err != nil:
		return nil, err
	case len(p.Changes)+len(p.Conflicts) > 0:
		return []engine.Range{all}, nil
	case len(p.Kept) > 0:
		return []engine.Range{last, since}, nil
	}
	return []engine.Range{since}, nil
}

// Merge merges the adoption into the present: an operation of its own.
func (a *Adoption) Merge(e *engine.Engine, ctx context.Context, op engine.Op) (*engine.Restored, error) {
	op.Verb, op.Ranges = adopt, a.Ranges
	done, err := e.Do(ctx, op)
	if err != nil || a.fork.Adopted == a.Now.ID {
		return done, err
	}
	a.fork.Adopted = a.Now.ID
	// Without the note the next adoption begins with the snapshot that was forked.
	if err := a.registry.put(a.fork); err != nil && !errors.Is(err, context.Canceled) {
		return done, fmt.Errorf("%s was adopted, but that could not be noted: %w", filepath.Base(a.Dir), err)
	}
	return done, nil
}
