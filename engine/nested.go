package engine

import (
	"context"
	"errors"
	"path"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/rules"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gitconf"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/trust"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// nestedRepository returns the function by which the scan learns about a
// directory that has a `.git`: its HEAD, its index, its own rules. Nil means
// that it is no repository, and the directory an ordinary one. With an error
// comes what can be known all the same.
func (c *capture) nestedRepository(texts *rules.Texts) func(context.Context, string) (*worktree.Repo, error) {
	return func(ctx context.Context, rel string) (*worktree.Repo, error) {
		dir := filepath.Join(c.e.root, filepath.FromSlash(rel))
		layout, err := gitconf.Nested(dir, &gitconf.Options{Env: c.e.opt.Getenv})
		switch {
		case errors.Is(err, gitconf.ErrNotRepository):
			return nil, nil
		case errors.Is(err, trust.ErrForeign) && c.e.repo == nil: // nothing is asked of it
			return &worktree.Repo{Ignore: texts.Chain(nil)}, c.keepNested(ctx, rel, nil)
		case err != nil:
			if err := c.keepNested(ctx, rel, nil); err != nil {
				return nil, err
			}
			return &worktree.Repo{Ignore: texts.Chain(nil)}, inWords(err)
		case c.e.repo != nil && sameDir(filepath.Join(dir, ".git"), c.e.repo.Layout().GitDir):
			return nil, nil // a link to the repository around it: for git an ordinary directory
		}
		exclude := rules.Exclude(layout)
		if err := c.keepNested(ctx, rel, exclude); err != nil {
			return nil, err
		}
		out := &worktree.Repo{Ignore: texts.Chain(exclude)}
		out.Head, out.HeadErr = nestedHead(layout)
		index, err := rules.OpenIndex(layout, rel)
		if c.broken[path.Join(rel, ".git")] != nil {
			index, err = rules.NoIndex(), nil
		}
		out.Index, out.IndexStat = index.Read, index.Stat
		return out, err
	}
}

// nestedHead returns the commit that a nested repository is on.
func nestedHead(l *gitconf.Layout) (oid.ID, error) {
	repo, err := gitbridge.Open(l, nil)
	if err != nil {
		return oid.ID{}, err
	}
	defer repo.Close()
	head, err := repo.Head()
	if err != nil {
		err = inWords(err)
	}
	return head.Commit, err
}

// inWords keeps the scan from leaving out the file that an error is about: the
// path that it gives is that of the repository.
func inWords(err error) error { return errors.New(err.Error()) }

// keepNested records a nested repository and its own ignore rules.
func (c *capture) keepNested(ctx context.Context, rel string, exclude []byte) error {
	at := NestedAt{Path: Path(rel)}
	if len(exclude) > 0 {
		at.Exclude = c.e.alg.Sum(oid.Blob, exclude)
	}
	c.mu.Lock()
	c.nested = append(c.nested, at)
	c.mu.Unlock()
	if c.stage == nil || len(exclude) == 0 {
		return nil
	}
	_, err := c.stage.Put(ctx, oid.Blob, exclude, oid.ID{})
	return objects.StoreError(err)
}

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	realA, errA := filepath.EvalSymlinks(a)
	realB, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && realA == realB
}
