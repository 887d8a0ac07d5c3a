package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// gitFileMax bounds the .git file of a linked worktree.
const gitFileMax = 1 << 20

// AddWorktree makes a linked worktree in a directory that is empty or not there,
// with HEAD at a commit and on no branch. Nothing is checked out, and there is no
// index. It returns the worktree's own git directory.
func (r *Repo) AddWorktree(ctx context.Context, dir string, head oid.ID) (gitDir string, err error) {
	if err := r.refuses(); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, nil, "worktree", "add", "--quiet", "--detach", "--no-checkout", dir, head.String()); err != nil {
		return "", err
	}
	text, err := regular.Read(filepath.Join(dir, ".git"), gitFileMax)
	if err != nil {
		return "", err
	}
	gitDir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%w: %s is not what git writes", ErrUnsupportedRepository, filepath.Join(dir, ".git"))
	}
	if !filepath.IsAbs(gitDir) {
		gitDir = filepath.Join(dir, gitDir)
	}
	return gitDir, nil
}

// PutIndex gives a worktree that [Repo.AddWorktree] has made its first index.
func PutIndex(gitDir string, index []byte) error {
	name := filepath.Join(gitDir, "index")
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s is there already", name))
	}
	return durable.WriteFile(name, index, 0o666)
}

// DropWorktree removes a linked worktree with everything in it, unless it is locked.
func (r *Repo) DropWorktree(ctx context.Context, dir string) error {
	_, err := r.git(ctx, nil, "worktree", "remove", "--force", dir)
	return err
}

// OnBranch reports whether a commit is reachable from a branch, a tag or what was
// fetched.
func (r *Repo) OnBranch(ctx context.Context, commit oid.ID) (bool, error) {
	out, err := r.git(ctx, nil, "for-each-ref", "--count=1", "--contains="+commit.String(), "refs/heads", "refs/tags", "refs/remotes")
	return out != "", err
}
