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
	return gitDirIn(dir)
}

// gitDirIn returns the git directory to which a linked worktree leads.
func gitDirIn(dir string) (gitDir string, err error) {
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
// Of one whose directory is gone it removes what git keeps of it, also where that is
// locked: git does so while it makes one, and a kill leaves that.
func (r *Repo) DropWorktree(ctx context.Context, dir string) error {
	args := []string{"worktree", "remove", "--force", dir}
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		args = []string{"worktree", "remove", "--force", "--force", dir}
	}
	_, err := r.git(ctx, nil, args...)
	return err
}

// Unkept returns a commit that would go with a linked worktree: its HEAD is there, or
// was, and neither a branch, a tag or what was fetched has it, nor the commit at which the
// worktree began. It is zero if there is none.
func (r *Repo) Unkept(ctx context.Context, dir string, began oid.ID) (commit oid.ID, err error) {
	gitDir, err := gitDirIn(dir)
	if err != nil {
		return commit, err
	}
	var ask strings.Builder
	fmt.Fprintf(&ask, "worktrees/%s/HEAD\n", filepath.Base(gitDir))
	log, err := regular.Read(filepath.Join(gitDir, "logs", "HEAD"), headLogMax)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return commit, err
	}
	for line := range strings.Lines(string(log)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			if id, err := oid.Parse(fields[1]); err == nil && !id.IsZero() {
				fmt.Fprintf(&ask, "%v\n", id)
			}
		}
	}
	out, err := r.git(ctx, strings.NewReader(ask.String()), "rev-list", "--max-count=1", "--stdin", "--not", began.String(), "--branches", "--tags", "--remotes")
	if err != nil || out == "" {
		return commit, err
	}
	return oid.Parse(out)
}

// headLogMax bounds the reflog of a linked worktree's HEAD.
const headLogMax = 64 << 20
