package locate

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// birthOf returns what tells a worktree from others: the birth of its root, and in
// a repository before it that of its git directory, which git makes anew for a
// worktree that is added again under an old name. It is "" where the system does
// not tell.
func birthOf(p *Place) (string, error) {
	root, err := dirfd.Birth(p.Root)
	if err != nil || p.Repo == nil || root == "" {
		return root, err
	}
	git, err := dirfd.Birth(p.Repo.Layout().GitDir)
	if err != nil || git == "" {
		return "", err
	}
	return git + records.BirthIn + root, nil
}

// IsAt reports whether a directory is the root of the worktree that had a birth.
func IsAt(root, birth string) bool {
	now, err := dirfd.Birth(root)
	return err == nil && (birth == now || strings.HasSuffix(birth, records.BirthIn+now))
}

// MayBeOurs returns the function that reports whether a session that ran in a
// directory may refer to snapshots of a store with worktrees at some roots: not if
// that is of another repository than the store's, which is nil without git, or
// outside of every worktree. When in doubt it may.
func MayBeOurs(repo *gitbridge.Repo, getenv func(string) string) func(dir string, roots []string) bool {
	return func(dir string, roots []string) bool {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) {
			return true
		}
		if slices.ContainsFunc(roots, func(root string) bool { return Within(root, real) }) {
			return true
		}
		if repo == nil {
			return false
		}
		l, err := gitconf.Discover(real, &gitconf.Options{Env: getenv})
		switch {
		case errors.Is(err, gitconf.ErrNotRepository):
			return false
		case err != nil:
			return true
		}
		return dirfd.SameDir(l.CommonDir, repo.Layout().CommonDir)
	}
}
