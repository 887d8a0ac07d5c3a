package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stash is git's own way to record without touching anything. It says nothing if
// nothing differs from HEAD: then that is the state.
type stash struct{}

func (stash) forget(context.Context, *lane) error { return nil }

func (stash) snapshot(ctx context.Context, l *lane) (string, error) {
	id, err := l.git(ctx, "stash", "create")
	if err != nil || id != "" {
		return id, err
	}
	return l.git(ctx, "rev-parse", "HEAD")
}

func (stash) restore(ctx context.Context, l *lane, id string) error {
	_, err := l.git(ctx, "restore", "--source="+id, "--worktree", "--", ".")
	return err
}

func (stash) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	return hook{}.content(ctx, l, id, name)
}

// zed is the sequence of Zed's checkpoints in 2026: a copy of the index takes what is
// tracked, and untracked files below 2 MB. Its list of file types that are left
// out is not repeated here. Its restore deletes nothing.
type zed struct{}

const zedMax = 2 << 20

func (zed) forget(context.Context, *lane) error { return nil }

func (zed) snapshot(ctx context.Context, l *lane) (string, error) {
	index := filepath.Join(l.tree, ".git", fmt.Sprintf("index-%d.tmp", rand.Uint64()))
	data, err := os.ReadFile(filepath.Join(l.tree, ".git", "index"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(index, data, 0o644); err != nil {
		return "", err
	}
	defer os.Remove(index)
	git := func(stdin string, args ...string) (string, error) {
		out, err := l.run(ctx, command{name: "git", args: args, env: []string{"GIT_INDEX_FILE=" + index}, stdin: []byte(stdin)})
		return string(out), err
	}
	head, err := git("", "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	if _, err := git("", "add", "--update"); err != nil {
		return "", err
	}
	others, err := git("", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return "", err
	}
	var small strings.Builder
	for _, name := range split0(others) {
		if fi, err := os.Lstat(l.path(name)); err == nil && fi.Size() < zedMax {
			small.WriteString(name + "\x00")
		}
	}
	if small.Len() > 0 {
		if _, err := git(small.String(), "update-index", "--add", "-z", "--stdin"); err != nil {
			return "", err
		}
	}
	tree, err := git("", "write-tree")
	if err != nil {
		return "", err
	}
	id, err := git("", "commit-tree", strings.TrimSpace(tree), "-p", strings.TrimSpace(head), "-m", "Checkpoint")
	return strings.TrimSpace(id), err
}

func (zed) restore(ctx context.Context, l *lane, id string) error {
	_, err := l.git(ctx, "restore", "--source", id, "--worktree", ".")
	return err
}

func (zed) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	return hook{}.content(ctx, l, id, name)
}

// cline is the sequence of Cline's SDK in 2026: a stash commit, with the untracked
// files as its third parent, under a ref of its own.
type cline struct{}

const clineRefs = "refs/bench/cline/"

func (cline) forget(ctx context.Context, l *lane) error {
	refs, err := l.git(ctx, "for-each-ref", "--format=%(refname)", clineRefs)
	for _, ref := range strings.Fields(refs) {
		err = firstError(err, dropRef(ctx, l, ref))
	}
	return err
}

// untracked commits the untracked files; "" if there are none.
func (cline) untracked(ctx context.Context, l *lane) (string, error) {
	others, err := l.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil || others == "" {
		return "", err
	}
	index, err := l.freshIndex()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(index))
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := l.run(ctx, command{name: "git", args: []string{"update-index", "--add", "-z", "--stdin"}, env: env, stdin: []byte(others)}); err != nil {
		return "", err
	}
	tree, err := l.run(ctx, command{name: "git", args: []string{"write-tree"}, env: env})
	if err != nil {
		return "", err
	}
	return l.git(ctx, "commit-tree", strings.TrimSpace(string(tree)), "-m", "untracked files")
}

func (c cline) snapshot(ctx context.Context, l *lane) (string, error) {
	head, err := l.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	id, err := stash{}.snapshot(ctx, l)
	if err != nil {
		return "", err
	}
	others, err := c.untracked(ctx, l)
	if err != nil {
		return "", err
	}
	if others != "" {
		index := []string{"rev-parse", id + "^2"} // the second parent of a stash commit is the index
		if id == head {
			index = []string{"commit-tree", "HEAD^{tree}", "-p", head, "-m", "index"}
		}
		second, err := l.git(ctx, index...)
		if err != nil {
			return "", err
		}
		if id, err = l.git(ctx, "commit-tree", id+"^{tree}", "-p", head, "-p", second, "-p", others, "-m", "cline checkpoint"); err != nil {
			return "", err
		}
	}
	_, err = l.git(ctx, "update-ref", fmt.Sprintf("%s%d", clineRefs, time.Now().UnixNano()), id)
	return id, err
}

// restore stashes the present, and then makes the branch, the worktree and the
// untracked files what they were.
func (cline) restore(ctx context.Context, l *lane, id string) error {
	head, err := l.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"stash", "push", "-q", "-u"}, {"reset", "-q", "--hard", head}, {"clean", "-fdq"}} {
		if _, err := l.git(ctx, args...); err != nil {
			return err
		}
	}
	if id == head { // nothing differed from it
		return nil
	}
	_, err = l.git(ctx, "stash", "apply", "-q", id)
	return err
}

func (cline) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	data, err := hook{}.content(ctx, l, id, name)
	if err != nil {
		return hook{}.content(ctx, l, id+"^3", name)
	}
	return data, nil
}
