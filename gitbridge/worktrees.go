package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// AddWorktree makes a linked worktree in a directory that is empty or not there,
// with HEAD at a commit and on no branch; unborn: then put on a branch of its own that is
// not born, as no git before 2.42 does by itself. Nothing is checked out, and there is no
// index. It returns the worktree's own git directory.
func (r *Repo) AddWorktree(ctx context.Context, dir string, head oid.ID, unborn bool) (gitDir string, err error) {
	if err := r.refuses(); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, nil, "worktree", "add", "--quiet", "--detach", "--no-checkout", dir, head.String()); err != nil {
		return "", err
	}
	gitDir, err = gitconf.ReadGitFile(filepath.Join(dir, ".git"))
	if err != nil || !unborn {
		return gitDir, err
	}
	return gitDir, r.unbear(ctx, gitDir)
}

// unbear puts HEAD of a linked worktree that was just made on a branch that no commit
// has. The log of HEAD goes, as there is no commit that it was at.
func (r *Repo) unbear(ctx context.Context, gitDir string) error {
	branch := "refs/heads/fork-" + filepath.Base(gitDir) // no other worktree has the name, but a branch may
	for {
		taken, err := r.git(ctx, nil, "for-each-ref", branch)
		if err != nil {
			return err
		}
		if taken == "" {
			break
		}
		branch += "-"
	}
	if _, err := r.git(ctx, nil, "--git-dir="+gitDir, "symbolic-ref", "HEAD", branch); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(gitDir, "logs", "HEAD"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err
}

// isUnborn reports whether HEAD of a worktree is on a branch that is not born.
func (r *Repo) isUnborn(ctx context.Context, gitDir string) (bool, error) {
	head, err := regular.Read(filepath.Join(gitDir, "HEAD"), headMax)
	branch, symbolic := strings.CutPrefix(string(head), "ref: ")
	if err != nil || !symbolic {
		return false, err
	}
	there, err := r.git(ctx, nil, "for-each-ref", "--count=1", strings.TrimSpace(branch))
	return there == "", err
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

// ErrUnkept says that something would go with a linked worktree that is nowhere else.
var ErrUnkept = errors.New("something of git's is there alone")

// Unkept is [ErrUnkept] if something would go with a linked worktree: a commit at which
// its HEAD or a ref of its own is, or its HEAD was, and which neither a branch, a tag or what was fetched has, nor the
// commit at which the worktree began, zero if that was none; something in its index that neither its HEAD has
// nor a state of which has looks up the paths; or a rebase, a merge or the like that stands open.
func (r *Repo) Unkept(ctx context.Context, dir string, began oid.ID, has func(path string) (tree.Node, bool, error)) error {
	gitDir, err := gitconf.ReadGitFile(filepath.Join(dir, ".git"))
	if err != nil {
		return err
	}
	commit, err := r.unkept(ctx, gitDir, began)
	switch {
	case err != nil:
		return err
	case !commit.IsZero():
		return fmt.Errorf("%w: %s was made in it, which no branch has (git branch NAME %[2]s keeps it)", ErrUnkept, commit.Short())
	}
	return r.staged(ctx, dir, gitDir, has)
}

// ownRefs lists the commits that the refs of a linked worktree alone are at. One that
// is at something else is [ErrUnkept]. See gitglossary, "per-worktree ref".
func (r *Repo) ownRefs(ctx context.Context, gitDir string) (ids []string, err error) {
	out, err := r.git(ctx, nil, "--git-dir="+gitDir, "for-each-ref", "--format=%(objecttype) %(objectname) %(refname)", "refs/worktree", "refs/bisect", "refs/rewritten")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("git for-each-ref says %q", line)
		}
		if fields[0] != "commit" {
			return nil, fmt.Errorf("%w: %s, which no other worktree has, is a %s", ErrUnkept, fields[2], fields[0])
		}
		ids = append(ids, fields[1])
	}
	return ids, nil
}

func (r *Repo) unkept(ctx context.Context, gitDir string, began oid.ID) (commit oid.ID, err error) {
	var ask strings.Builder
	unborn, err := r.isUnborn(ctx, gitDir)
	if err != nil {
		return commit, err
	}
	if !unborn {
		fmt.Fprintf(&ask, "worktrees/%s/HEAD\n", filepath.Base(gitDir))
	}
	own, err := r.ownRefs(ctx, gitDir)
	if err != nil {
		return commit, err
	}
	for _, id := range own {
		fmt.Fprintln(&ask, id)
	}
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
	if ask.Len() == 0 {
		return commit, nil
	}
	args := []string{"rev-list", "--max-count=1", "--stdin", "--not", "--branches", "--tags", "--remotes"}
	if !began.IsZero() {
		args = append(args, began.String())
	}
	out, err := r.git(ctx, strings.NewReader(ask.String()), args...)
	if err != nil || out == "" {
		return commit, err
	}
	return oid.Parse(out)
}

// opened are the files in a git directory that stand for something that is not done.
var opened = map[string]string{
	"rebase-merge": "rebase", "rebase-apply": "rebase or am", "MERGE_HEAD": "merge",
	"CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "BISECT_LOG": "bisect", "sequencer": "cherry-pick or revert",
}

// staged is the part of Unkept that is about the index and what stands open.
func (r *Repo) staged(ctx context.Context, dir, gitDir string, has func(path string) (tree.Node, bool, error)) error {
	for _, name := range slices.Sorted(maps.Keys(opened)) {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); !errors.Is(err, os.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%w: a %s stands open in %s", ErrUnkept, opened[name], dir))
		}
	}
	base := "HEAD"
	unborn, err := r.isUnborn(ctx, gitDir)
	if err == nil && unborn {
		base, err = r.git(ctx, strings.NewReader(""), "hash-object", "-t", "tree", "--stdin")
	}
	if err != nil {
		return err
	}
	out, err := r.git(ctx, nil, "--git-dir="+gitDir, "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", base, "--")
	if err != nil {
		return err
	}
	for fields := strings.Split(out, "\x00"); len(fields) > 1; fields = fields[2:] {
		words := strings.Fields(fields[0])
		if len(words) != 5 {
			return fmt.Errorf("git diff-index says %q", fields[0])
		}
		id, err := oid.Parse(words[3])
		if err != nil {
			return err
		}
		n, _, err := has(fields[1])
		switch {
		case words[4] == "U":
			return fmt.Errorf("%w: %q is unmerged in the index of %s", ErrUnkept, fields[1], dir)
		case !id.IsZero() && words[4] != "D" && (err != nil || n.Git.ID != id || fmt.Sprintf("%06o", n.Git.Mode) != words[1]):
			return fmt.Errorf("%w: what is staged of %q in %s is in no snapshot", ErrUnkept, fields[1], dir)
		}
	}
	return nil
}

// headLogMax bounds the reflog of a linked worktree's HEAD.
const headLogMax = 64 << 20

// headMax bounds HEAD.
const headMax = 64 << 10
