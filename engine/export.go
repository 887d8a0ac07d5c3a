package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine/internal/blame"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Export writes what a snapshot holds into a directory, which must be empty or
// not exist, and into which nobody else writes, durably. It counts the files and links.
// Nested repositories come as plain directories. Files that the present has too share
// their content with it, where the file system can. The paths that could not be written
// are in the result, as is that the snapshot itself lacks something that is lost.
func (e *Engine) Export(ctx context.Context, s *Snapshot, dir string) (*Restored, error) {
	if err := e.makeDir(dir); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("%w: %s is not empty", ErrRefused, dir)
	}
	t, err := e.checkoutOf(ctx, s)
	if err != nil {
		return nil, err
	}
	out, err := apply.Fill(ctx, dir, t.Steps, e.objects.Prefetch(t.IDs).Write, &apply.Filling{Alg: e.alg, Like: e.root, Durable: true, Progress: e.progress("export")})
	return exported(s, t, out), err
}

// checkoutOf reads what a snapshot holds, to be written elsewhere.
func (e *Engine) checkoutOf(ctx context.Context, s *Snapshot) (*plan.Checkout, error) {
	t, err := plan.NewCheckout(s.State(), e.alg, e.objects.Trees(ctx, objects.Reading{}))
	return t, objects.TreeError(err)
}

func exported(s *Snapshot, t *plan.Checkout, out apply.Outcome) *Restored {
	r := restored(&Operation{To: s.ID}, outcome{Outcome: out})
	r.Written = t.Done(out.Conflicts)
	r.Conflicts = append(lacks(s), r.Conflicts...)
	return r
}

// Fork writes a snapshot into a directory that must not exist, nor lie in the
// worktree: in a repository as a linked worktree whose HEAD is the commit that HEAD
// was at, and whose index is that commit's; of one at no commit with a HEAD on a branch
// of its own that is not born, and no index. Files that the present has too share
// their content with it, where the file system can. Made is called when there is
// the directory and nothing in it. Nothing is synced: the snapshot has all of it.
func (e *Engine) Fork(ctx context.Context, s *Snapshot, dir string, made func() error) (*Restored, error) {
	var head oid.ID
	at, unborn := s.Head, s.Head.IsZero()
	if unborn {
		at = s.ID
	}
	if e.repo != nil {
		c, err := e.repo.ReadCommit(at)
		switch {
		case err != nil && unborn:
			return nil, fmt.Errorf("%w: git does not have the snapshot yet, so there can be no linked worktree: \"rewind sync\" gives it, and \"rewind export\" writes the files alone", ErrRefused)
		case err != nil:
			return nil, fmt.Errorf("%w: HEAD was at a commit that git has no more, so there can be no linked worktree: \"rewind export\" writes the files alone", ErrRefused)
		}
		head = c.Tree
	}
	t, err := e.checkoutOf(ctx, s)
	if err == nil {
		if err = e.makeDir(dir); errors.Is(err, os.ErrExist) {
			err = fmt.Errorf("%w: %s exists", ErrRefused, dir)
		}
	}
	if err == nil {
		err = made()
	}
	var gitDir string
	if err == nil && e.repo != nil {
		gitDir, err = e.repo.AddWorktree(ctx, dir, at, unborn)
	}
	if err != nil {
		return nil, err
	}
	out, err := apply.Fill(ctx, dir, t.Steps, e.objects.Prefetch(t.IDs).Write, &apply.Filling{Alg: e.alg, Like: e.root, Made: t.Made, Progress: e.progress("fork")})
	if err == nil && e.repo != nil && !unborn {
		var index []byte
		if index, err = t.Index(head); err == nil {
			err = gitbridge.PutIndex(gitDir, index)
		}
	}
	return exported(s, t, out), err
}

// Unfork removes a linked worktree with everything in it, and what git keeps of it. With the snapshot that it
// was made of it is [ErrRefused] if HEAD is or was at one that no branch, tag or remote has, if something is staged
// that the snapshot of now does not have, or if something like a rebase stands open.
func (e *Engine) Unfork(ctx context.Context, dir string, began, now *Snapshot) error {
	if began != nil {
		has := tree.Finder{State: now.State(), Algorithm: e.alg, Load: e.objects.Trees(ctx, objects.Reading{})}
		if err := e.repo.Unkept(ctx, dir, began.Head, has.Lookup); errors.Is(err, gitbridge.ErrUnkept) {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		} else if err != nil {
			return err
		}
	}
	return e.repo.DropWorktree(ctx, dir)
}

// makeDir makes the directory of an export or a fork. Files have the
// permissions that they were recorded with: where nobody else could come to them, a
// directory that all may enter would publish them.
func (e *Engine) makeDir(dir string) error {
	perm := os.FileMode(0o777)
	if dirfd.Everybody().KeptOffPath(e.root) {
		perm = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o777); err != nil {
		return err
	}
	return os.Mkdir(dir, perm)
}

// Cat writes the content of a file (or a link's target) of a snapshot.
func (e *Engine) Cat(ctx context.Context, s *Snapshot, path string, w io.Writer) error {
	n, ok, err := tree.Lookup(s.State(), path, e.alg, e.objects.Trees(ctx, objects.Reading{}))
	if err != nil {
		return objects.TreeError(err)
	}
	if !ok {
		return lookup.NotThere{Snapshot: s.ID, Paths: []Note{{Path: Path(path)}}}
	}
	if n.Mode.IsDir() {
		return fmt.Errorf("%q is a directory in snapshot %s", path, s.ID.Short())
	}
	_, err = e.objects.Write(ctx, w, n.ID)
	return err
}

// Blame tells which snapshot brought each line of a file that has a number from
// first to last, counted from 1: of a snapshot, or with nil of the worktree as it is
// now. [ErrNoSnapshot] if there is no such file, [ErrRefused] if it is none of lines.
// Where an older version cannot be read the lines come with the error.
func (e *Engine) Blame(ctx context.Context, s *Snapshot, path string, first, last int) ([]Line, error) {
	past := e.past()
	v, err := e.versionOf(ctx, past, s, path)
	if errors.Is(err, blame.ErrNoLines) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return nil, err
	}
	return blame.Run(ctx, past, v, first, last)
}

// past returns the history of the files, for a blame.
func (e *Engine) past() *blame.History {
	return &blame.History{Algorithm: e.alg, Objects: e.objects, View: e.view, Here: e.Here, Base: e.Before}
}

// versionOf returns the file that is asked about.
func (e *Engine) versionOf(ctx context.Context, past *blame.History, s *Snapshot, path string) (*blame.Version, error) {
	if s != nil {
		v, err := past.Find(ctx, s, path)
		if v == nil && err == nil {
			err = lookup.NotThere{Snapshot: s.ID, Paths: []Note{{Path: Path(path)}}}
		}
		return v, err
	}
	st, there := dirfd.Lstat(e.root, path)
	if !there {
		err := fmt.Errorf("%w: there is no file %q now", ErrNoSnapshot, path)
		if here, _ := e.Here(ctx); here != nil {
			if v, _ := past.Find(ctx, here, path); v != nil {
				err = fmt.Errorf("%w; snapshot %s has it: blame %[2]s:%s", err, here.ID.Short(), path)
			}
		}
		return nil, err
	}
	if st.Mode.Type() != tree.File {
		return nil, fmt.Errorf("%q %w: it is no file", path, blame.ErrNoLines)
	}
	text, whole, err := dirfd.ReadBelow(e.root, path, false, diffBytesMax)
	if err == nil {
		err = blame.Text(path, text, whole)
	}
	return &blame.Version{Path: path, Text: text}, err
}
