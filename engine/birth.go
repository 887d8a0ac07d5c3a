package engine

import (
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// birthOf returns what tells the worktree from others: the birth of its root,
// and in a repository before it that of its git directory, which git makes anew
// for a worktree that is added again under an old name.
func (e *Engine) birthOf() (string, error) {
	root, err := dirfd.Birth(e.root)
	if err != nil || e.repo == nil || root == "" {
		return root, err
	}
	git, err := dirfd.Birth(e.repo.Layout().GitDir)
	if err != nil || git == "" {
		return "", err
	}
	return git + records.BirthIn + root, nil
}
