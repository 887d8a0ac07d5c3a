package engine

import (
	"context"
	"errors"
	"path"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/gitconf"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// nestedRepository returns the function by which the scan learns about a
// directory that has a `.git`: its HEAD, its index, its own rules. Nil means
// that it is no repository, and the directory an ordinary one.
func (c *capture) nestedRepository(rules *outside) func(context.Context, string) (*worktree.Repo, error) {
	return func(ctx context.Context, rel string) (*worktree.Repo, error) {
		dir := filepath.Join(c.e.root, filepath.FromSlash(rel))
		layout, err := gitconf.Discover(dir, &gitconf.Options{Env: c.e.opt.Getenv})
		if errors.Is(err, regular.ErrIrregular) || errors.Is(err, regular.ErrLarge) {
			return nil, inWords(err)
		}
		if err != nil || !sameDir(layout.Worktree, dir) {
			return nil, nil
		}
		repo, err := gitbridge.Open(layout, nil)
		if err != nil {
			return nil, err
		}
		defer repo.Close()
		head, err := repo.Head()
		if err != nil {
			return nil, inWords(err)
		}
		exclude := readRules(filepath.Join(layout.CommonDir, "info", "exclude"))
		if err := c.keepNested(ctx, rel, exclude); err != nil {
			return nil, err
		}
		index, st, err := readIndex(layout, rel)
		if err != nil {
			return nil, err
		}
		if c.broken[path.Join(rel, ".git")] != nil {
			index, st = noIndex, dirfd.Stat{}
		}
		return &worktree.Repo{Head: head.Commit, Ignore: rules.chain(exclude), Index: index, IndexStat: st}, nil
	}
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
	return storeError(err)
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	real, err := filepath.EvalSymlinks(a)
	return err == nil && real == b
}
