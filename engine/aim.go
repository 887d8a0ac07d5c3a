package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/plan"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An aim is what an operation is to reach.
type aim struct {
	target  *Snapshot
	stored  bool // the store has the record of the target
	paths   *plan.Selection
	ignored bool      // ignored files that are there, and differ, too
	chosen  bool      // the paths come from the caller: one that means nothing is an error
	made    plan.Made // what an operation that is to be taken back has made; nil without one
	edits   []Edit    // what files get in place of what the target has
}

// aimAt aims at a snapshot, within the paths of the options.
func (e *Engine) aimAt(ctx context.Context, id oid.ID, opt *RestoreOptions) (to aim, err error) {
	if to.target, err = e.Find(ctx, id); err == nil {
		to.stored, err = e.isRecorded(ctx, to.target.ID)
	}
	if err != nil {
		return aim{}, err
	}
	var paths []string
	if opt != nil {
		paths, to.ignored, to.edits = opt.Paths, opt.Ignored, opt.Edits
	}
	if err := checkEdits(to.edits, paths); err != nil {
		return aim{}, err
	}
	to.paths, err = selection(paths, e.existsIn(ctx, to.target))
	return to, err
}

// takeBack turns the aim to the state before an operation: what the operation made
// goes, and what was in the way of its paths comes back. If its journal is lost,
// nobody knows what it made, and all of that stays.
func (to *aim) takeBack(ctx context.Context, e *Engine, op *Operation) error {
	steps, err := e.steps(ctx, op)
	if err != nil && !isLost(err) {
		return err
	}
	to.made = plan.MadeBy(steps)
	to.paths = to.paths.And(to.made.Displaced())
	return nil
}

// checkTarget is an error if the target was dropped or purged since it was looked
// up.
func (to aim) checkTarget(v *records.View) error {
	if !to.stored {
		return nil // git has it
	}
	s, err := v.Find(to.target.ID)
	if err == nil && (s == nil || s.ID != to.target.ID) {
		err = fmt.Errorf("%w: %v: it was dropped meanwhile", ErrNoSnapshot, to.target.ID)
	}
	return err
}

// selection reads the paths that somebody chose; see [RestoreOptions].
func selection(paths []string, exists func(path string) (bool, error)) (*plan.Selection, error) {
	s, err := plan.Select(paths, exists)
	if errors.Is(err, plan.ErrPath) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return s, err
}

// existsIn returns the function that tells whether one of the snapshots has a
// path, or the disk; a snapshot may be nil.
func (e *Engine) existsIn(ctx context.Context, snapshots ...*Snapshot) func(string) (bool, error) {
	return func(p string) (bool, error) {
		if _, ok := dirfd.Lstat(e.root, p); ok {
			return true, nil
		}
		for _, s := range snapshots {
			if s == nil {
				continue
			}
			n, ok, err := tree.Lookup(s.State(), p, e.alg, e.objects.Trees(ctx, objects.Reading{}))
			if ok || n.Git.Name != "" || err != nil {
				return ok || n.Git.Name != "", objects.TreeError(err)
			}
		}
		return false, nil
	}
}

// whatIsNow names the present in an error.
const whatIsNow = "what would be recorded now"

// A notThere error says that a snapshot has nothing at some paths. It is an
// [ErrNoSnapshot]: there is no such thing to be had.
type notThere struct {
	snapshot oid.ID
	paths    []Note // with the reason, if one is known
	other    string // what has nothing there either; "": there is no other
}

// Error names the paths.
func (n notThere) Error() string {
	var names []string
	for _, at := range n.paths {
		name := fmt.Sprintf("%q", at.Path)
		if at.Reason != "" {
			name += " (" + at.Reason + ", and not recorded)"
		}
		names = append(names, name)
	}
	where := fmt.Sprintf("snapshot %v", n.snapshot)
	if n.other != "" {
		return fmt.Sprintf("neither %s nor %s has %s", where, n.other, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s has no path %s", where, strings.Join(names, ", "))
}

// Is makes it an ErrNoSnapshot.
func (n notThere) Is(target error) bool { return target == ErrNoSnapshot }

// RestoreOptions say how far a restore, undo or redo goes.
type RestoreOptions struct {
	// Paths limit it to these paths, slash-separated below the worktree, and to
	// what lies below them; empty: everything. A path that exists, in the snapshot
	// or on disk, means itself. Another one with glob characters is a pattern
	// with the rules of gitignore(5): without a slash it matches a name in any
	// directory, and `**` any directories. Before a path ":(literal)" and
	// ":(glob)" say which it is, and ":(prefix:N)" that its first N bytes, a
	// directory with its slash, are no pattern and the pattern begins there.
	Paths []string

	// Ignored says that ignored files which are there, and differ, go back too. Else
	// those alone that are gone.
	Ignored bool

	// Edits give some of the files other contents than the snapshot has. Then Paths
	// may not be empty: the worktree as a whole does not become what the snapshot is.
	Edits []Edit
}
