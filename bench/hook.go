package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// hook is the sequence of pi-rewind-hook 1.8: everything is added to an empty
// index; a chain of commits under one ref keeps the snapshots. The ref is named
// differently here.
type hook struct{}

const hookRef = "refs/bench/hook"

func (hook) forget(ctx context.Context, l *lane) error { return dropRef(ctx, l, hookRef) }

// tree records the worktree as a tree through an index of its own.
func (hook) tree(ctx context.Context, l *lane) (string, error) {
	index, err := l.freshIndex()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(index))
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := l.run(ctx, command{name: "git", args: []string{"add", "-A"}, env: env}); err != nil {
		return "", err
	}
	out, err := l.run(ctx, command{name: "git", args: []string{"write-tree"}, env: env})
	return strings.TrimSpace(string(out)), err
}

// keep commits a tree and ties the commit to the chain.
func (hook) keep(ctx context.Context, l *lane, tree string) (string, error) {
	snapshot, err := l.git(ctx, "commit-tree", tree, "-m", "pi rewind snapshot")
	if err != nil {
		return "", err
	}
	out, err := l.run(ctx, command{name: "git", args: []string{"rev-parse", "-q", "--verify", hookRef}, codes: []int{1}})
	if err != nil {
		return "", err
	}
	last := strings.TrimSpace(string(out))
	empty, err := l.run(ctx, command{name: "git", args: []string{"hash-object", "-t", "tree", "-w", "--stdin"}})
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", strings.TrimSpace(string(empty)), "-m", "pi rewind store"}
	if last != "" {
		args = append(args, "-p", last)
	}
	kept, err := l.git(ctx, append(args, "-p", snapshot)...)
	if err != nil {
		return "", err
	}
	if last == "" {
		last = strings.Repeat("0", len(kept)) // git's way to say: must not exist
	}
	_, err = l.git(ctx, "update-ref", hookRef, kept, last)
	return snapshot, err
}

func (h hook) snapshot(ctx context.Context, l *lane) (string, error) {
	if _, err := l.git(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return "", err
	}
	tree, err := h.tree(ctx, l)
	if err != nil {
		return "", err
	}
	return h.keep(ctx, l, tree)
}

func (h hook) restore(ctx context.Context, l *lane, id string) error {
	now, err := h.tree(ctx, l)
	if err != nil {
		return err
	}
	if _, err := h.keep(ctx, l, now); err != nil {
		return err
	}
	created, err := l.git(ctx, "diff", "--name-only", "--diff-filter=D", "-z", now, id, "--")
	if err != nil {
		return err
	}
	for _, name := range split0(created) {
		if err := os.RemoveAll(l.path(name)); err != nil {
			return err
		}
	}
	_, err = l.git(ctx, "restore", "--source="+id, "--worktree", "--", ".")
	return err
}

func (hook) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	return l.run(ctx, command{name: "git", args: []string{"cat-file", "blob", id + ":" + name}})
}

// freshIndex gives the name of an index file that does not exist, in a directory of its own.
func (l *lane) freshIndex() (string, error) {
	dir, err := os.MkdirTemp(l.scratch, "index-")
	return filepath.Join(dir, "index"), err
}
