package fork

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine"
)

// An Adoption is what was done in a fork, to be merged into the present.
type Adoption struct {
	Dir  string           // of the fork
	Now  *engine.Snapshot // what is there, recorded
	Span engine.Span      // what is merged

	fork     *Fork
	registry registry
}

// Adopt records what is in a fork, and says what of it is to be merged into the
// worktree of e: what changed since the snapshot that was written there. Where the
// worktree still has all of what an earlier adoption brought, it is what changed since
// that one. Of the worktree it changes nothing. The paths of the options limit it.
func Adopt(ctx context.Context, e *engine.Engine, dir string, open *engine.Options, opt *engine.RestoreOptions) (*Adoption, error) {
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
	a := &Adoption{Dir: f.Dir, Now: now, Span: engine.Span{From: base.ID, To: now.ID}, fork: f, registry: r}
	has, err := f.hasAdopted(ctx, e, opt)
	if has {
		a.Span.From = f.Adopted
	}
	return a, err
}

// hasAdopted reports whether all that was adopted last is in the present still: it
// would change nothing to adopt it again.
func (f *Fork) hasAdopted(ctx context.Context, e *engine.Engine, opt *engine.RestoreOptions) (bool, error) {
	if f.Adopted.IsZero() {
		return false, nil
	}
	of := *opt
	of.Markers = false
	p, err := e.PlanMerge(ctx, []engine.Span{{From: f.Snapshot, To: f.Adopted}}, &of)
	if errors.Is(err, engine.ErrNoSnapshot) {
		return false, nil // pruned, or one of the paths is new
	}
	return err == nil && len(p.Changes)+len(p.Conflicts) == 0, err
}

// Merge merges the adoption into the present: an operation of its own.
func (a *Adoption) Merge(ctx context.Context, e *engine.Engine, opt *engine.RestoreOptions) (*engine.Restored, error) {
	done, err := e.Merge(ctx, "adopt", []engine.Span{a.Span}, opt)
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

// IsZero reports whether nothing in the fork is to be merged.
func (a *Adoption) IsZero() bool { return a.Span.From == a.Span.To }
