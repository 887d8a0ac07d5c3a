// Package fork makes second working directories of snapshots, lists them, and
// removes them when everything in them is in a snapshot.
//
// It promises:
//
//   - A directory that is there, or that lies in the worktree, in a git directory or
//     beside the store, is not touched.
//   - What was begun is named, also after a kill.
//   - Only the very directory that was made is removed, and nothing that no snapshot
//     has, unless somebody insists.
package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// The conditions a caller may want to tell apart.
var (
	ErrPlace    = errors.New("nothing can be made there") // the directory is there already, or lies where none may
	ErrUnshared = errors.New("the file system cannot share the contents of files")
	ErrNone     = errors.New("no such fork")                                 // nothing is known of the directory
	ErrUnsaved  = errors.New("something there is in no snapshot")            // it would be lost
	ErrAnother  = errors.New("another directory is there than the fork was") // what is there is not ours
)

// registryOf returns where the forks of a store are written down.
func registryOf(ctx context.Context, e *engine.Engine) (registry, error) {
	st, err := e.Status(ctx)
	if err != nil {
		return "", err
	}
	return registry(filepath.Join(filepath.Dir(st.Store), "forks.json")), nil
}

// Place checks that a fork may be made in a directory, and returns its real path.
func Place(ctx context.Context, e *engine.Engine, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		return "", errors.Join(err, fmt.Errorf("%w: %s exists", ErrPlace, dir))
	}
	store, err := registryOf(ctx, e)
	if err != nil {
		return "", err
	}
	above, rest, err := realAbove(dir)
	if err != nil {
		return "", err
	}
	if err := apart(store, above, dir, e.Root()); err != nil {
		return "", err
	}
	dir = filepath.Join(above, rest)
	return dir, store.free(dir)
}

// PlaceExport checks that a snapshot may be exported into a directory: it does not
// exist or is empty, and lies neither in a git directory nor beside rewind's own
// store. It may lie in the worktree.
func PlaceExport(ctx context.Context, e *engine.Engine, dir string) error {
	there, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("%w: %s is not empty", ErrPlace, dir)
	}
	store, err := registryOf(ctx, e)
	if err != nil {
		return err
	}
	above, _, err := realAbove(filepath.Join(dir, "file"))
	if err != nil {
		return err
	}
	return apart(store, above, dir, "")
}

// realAbove returns the real path of the nearest directory above a path that is
// there, and the rest of the path.
func realAbove(path string) (above, rest string, err error) {
	rest, above = filepath.Base(path), filepath.Dir(path)
	for {
		real, err := filepath.EvalSymlinks(above)
		if err == nil {
			return real, rest, nil
		}
		if !errors.Is(err, os.ErrNotExist) || above == filepath.Dir(above) {
			return "", "", err
		}
		rest, above = filepath.Join(filepath.Base(above), rest), filepath.Dir(above)
	}
}

// apart checks that a real directory and those above it are neither git's own nor
// the one with rewind's stores, nor a worktree, if there is one.
func apart(store registry, above, dir, worktree string) error {
	for at := above; ; at = filepath.Dir(at) {
		switch {
		case worktree != "" && dirfd.SameDir(at, worktree):
			return fmt.Errorf("%w: %s lies in the worktree %s", ErrPlace, dir, worktree)
		case dirfd.SameDir(at, filepath.Dir(string(store))):
			return fmt.Errorf("%w: %s lies beside rewind's own store", ErrPlace, dir)
		case isGitDir(at):
			return fmt.Errorf("%w: %s lies in the git directory %s", ErrPlace, dir, at)
		case at == filepath.Dir(at):
			return nil
		}
	}
}

// free makes sure that the note of no other fork would be overwritten: one may have been
// moved away.
func (r registry) free(dir string) error {
	f, err := r.find(dir)
	if err == nil && f != nil {
		err = fmt.Errorf("%w: the fork that was made as %s was moved or deleted, and is still noted (rewind forks --remove %s forgets it)", ErrPlace, dir, dir)
	}
	return err
}

// isGitDir reports whether a directory looks like one of git's own.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// Make writes a snapshot into a new directory, which [Place] has returned, and what is to
// be taken along from the present, which may be nil: what the snapshot has stays as it is
// there.
func Make(ctx context.Context, e *engine.Engine, s *engine.Snapshot, dir string, along *Ignored) (*Made, error) {
	r, err := registryOf(ctx, e)
	if err != nil {
		return nil, err
	}
	st, err := e.Status(ctx)
	if err != nil {
		return nil, err
	}
	f := &Fork{Dir: dir, Snapshot: s.ID, Git: st.Git, Time: time.Now()}
	begun, err := r.begin(ctx, f)
	if err != nil {
		return nil, err
	}
	defer begun.Unlock()
	made := false
	done, err := e.Fork(ctx, s, dir, func() (err error) {
		made = true
		if f.Birth, err = dirfd.Birth(dir); err == nil {
			err = r.replace(dir, f)
		}
		return errors.Join(err, begun.Unlock())
	})
	if !made {
		return nil, errors.Join(err, r.replace(dir, nil))
	}
	out := &Made{Restored: done}
	if err == nil && along != nil {
		out.Taken, err = along.put(ctx, dir)
	}
	if err != nil {
		return out, fmt.Errorf("%s is a part of a fork (rewind forks --remove %s removes it): %w", dir, dir, err)
	}
	if len(done.Conflicts) > 0 {
		if f.Made, err = f.recordMade(ctx, e); err != nil {
			return out, fmt.Errorf("%s could not be recorded as it was made (rewind forks --remove %s removes it): %w", dir, dir, err)
		}
	}
	f.Whole = true
	return out, r.put(f)
}

// recordMade records what is in a fork that some path of the snapshot could not be
// written to. Without that the path would count as deleted there, and the next adoption
// would delete it in the worktree too.
func (f *Fork) recordMade(ctx context.Context, e *engine.Engine) (oid.ID, error) {
	there, err := f.open(ctx, e, &engine.Options{Force: true, NoGit: !f.Git})
	if err != nil {
		return zero, err
	}
	defer there.Close()
	r, err := there.Snapshot(ctx, &engine.SnapshotOptions{Label: "fork " + filepath.Base(f.Dir) + " as it was made", Trigger: "fork"})
	if err != nil {
		return zero, err
	}
	return r.Snapshot.ID, nil
}

// base returns the snapshot of what was in a fork when it was made.
func (f *Fork) base() oid.ID {
	if f.Made.IsZero() {
		return f.Snapshot
	}
	return f.Made
}

// The states of a fork.
const (
	Stands     = "stands"     // it is there
	Unfinished = "unfinished" // it was interrupted while it was made
	Gone       = "gone"       // the directory is not there any more
	Another    = "another"    // another directory is there
)

// state says what became of a fork's directory.
func (f *Fork) state() string {
	if _, err := os.Lstat(f.Dir); errors.Is(err, os.ErrNotExist) {
		return Gone
	}
	if f.Birth == "" { // it is ours at most if nobody has put anything there
		if there, err := os.ReadDir(f.Dir); err != nil || len(there) > 0 {
			return Another
		}
		return Unfinished
	}
	if birth, err := dirfd.Birth(f.Dir); err != nil || birth != f.Birth {
		return Another
	}
	if !f.Whole {
		return Unfinished
	}
	return Stands
}

// A Listed is a fork as it is now.
type Listed struct {
	*Fork
	State   string
	Changed int   // paths that differ from what was made there
	Bytes   int64 // of its files
	Err     error // not nil: why that is not known
}

// List returns all forks of the store, the newest last. Beside an error the others
// are returned.
func List(ctx context.Context, e *engine.Engine, opt *engine.Options) (list []Listed, err error) {
	r, err := registryOf(ctx, e)
	if err != nil {
		return nil, err
	}
	forks, err := r.all()
	for _, f := range forks {
		l := Listed{Fork: f, State: f.state()}
		if l.State == Stands {
			l.Changed, l.Err = f.changed(ctx, e, opt)
		}
		if l.State == Stands || l.State == Unfinished {
			l.Bytes = size(f.Dir)
		}
		list = append(list, l)
	}
	return list, err
}

// open opens the fork's directory as a worktree of the same store.
func (f *Fork) open(ctx context.Context, e *engine.Engine, opt *engine.Options) (*engine.Engine, error) {
	open := engine.Open
	if !f.Git {
		open = e.Beside
	}
	there, err := open(ctx, f.Dir, opt)
	if err == nil && there.Root() != f.Dir {
		err = errors.Join(fmt.Errorf("%w: %s belongs to %s", ErrAnother, f.Dir, there.Root()), there.Close())
	}
	if err != nil {
		return nil, err
	}
	return there, nil
}

func (f *Fork) changed(ctx context.Context, e *engine.Engine, opt *engine.Options) (int, error) {
	there, err := f.open(ctx, e, opt)
	if err != nil {
		return 0, err
	}
	defer there.Close()
	changes, err := f.changes(ctx, there)
	return len(changes), err
}

// changes lists what differs there from what was made.
func (f *Fork) changes(ctx context.Context, there *engine.Engine) ([]engine.Change, error) {
	base, err := there.Find(ctx, f.base().String())
	if err != nil {
		return nil, err
	}
	d, err := there.Diff(ctx, base, nil, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(d.Changes, func(c engine.Change) bool {
		from, to := tree.Mode(c.From.Mode), tree.Mode(c.To.Mode)
		return from.Type() == tree.Nested && to == tree.Dir|from.Perm() // it was made without its .git
	}), nil
}

// size adds up the files below a directory, as far as they can be seen.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}

// Needed returns the function that lists the snapshots that the forks of a store go by:
// without them nobody knows what was done there. It lists those of all that are noted,
// also of one whose directory is not there just now.
func Needed(ctx context.Context, e *engine.Engine) (func(context.Context) ([]oid.ID, error), error) {
	r, err := registryOf(ctx, e)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (ids []oid.ID, err error) {
		forks, err := r.all()
		for _, f := range forks {
			ids = append(ids, f.Snapshot, f.Made, f.Adopted)
		}
		return ids, err
	}, nil
}

// find returns the fork in a directory.
func find(ctx context.Context, e *engine.Engine, dir string) (*Fork, registry, error) {
	r, err := registryOf(ctx, e)
	if err != nil {
		return nil, r, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, r, err
	}
	names := []string{dir}
	if real, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		names = append(names, filepath.Join(real, filepath.Base(dir)))
	}
	for _, name := range names {
		if f, err := r.find(name); f != nil || err != nil {
			return f, r, err
		}
	}
	return nil, r, fmt.Errorf("%w: %s (\"rewind forks\" lists them)", ErrNone, dir)
}

// record records what is in a fork now, if it differs from what was made there. It
// returns the snapshot of that otherwise.
func (f *Fork) record(ctx context.Context, there *engine.Engine) (base, now *engine.Snapshot, err error) {
	open, err := there.Bisecting(ctx)
	if err == nil && open != nil {
		err = fmt.Errorf("%w: a bisect stands open in %s, so its own files are in %s alone: \"rewind bisect reset\" there puts them back", ErrUnsaved, f.Dir, open.Home.Short())
	}
	if err == nil {
		base, err = there.Find(ctx, f.base().String())
	}
	if err != nil {
		return nil, nil, err
	}
	changes, err := f.changes(ctx, there)
	if err != nil || len(changes) == 0 {
		return base, base, err
	}
	r, err := there.Snapshot(ctx, &engine.SnapshotOptions{Label: "fork " + filepath.Base(f.Dir), Trigger: "fork"})
	if err != nil {
		return nil, nil, err
	}
	return base, r.Snapshot, nil
}

// zero is the id of nothing.
var zero oid.ID
