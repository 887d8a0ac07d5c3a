package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A system records a worktree and puts a recorded state back.
type system interface {
	name() string
	// forget removes whatever the system keeps of the worktree.
	forget(ctx context.Context, st *stage) error
	// snapshot records the worktree and gives the name of what it recorded.
	snapshot(ctx context.Context, st *stage) (id string, err error)
	// restore puts a recorded state back, keeping the present one for an undo.
	restore(ctx context.Context, st *stage, id string) error
	// content gives the bytes that a snapshot holds of a file.
	content(ctx context.Context, st *stage, id, name string) ([]byte, error)
}

// rewind is the program that all this is about; docs/cli.md is its contract.
type rewind struct{}

func (rewind) name() string { return "rewind" }

func (rewind) forget(ctx context.Context, st *stage) error {
	if err := emptyDir(st.state); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(st.tree, ".git")); err != nil {
		return nil // without git the state directory has it all
	}
	if err := os.RemoveAll(filepath.Join(st.tree, ".git", "rewind")); err != nil {
		return err
	}
	return dropRef(ctx, st, "refs/pi-rewind/store")
}

func (rewind) snapshot(ctx context.Context, st *stage) (string, error) {
	out, err := st.run(ctx, command{name: st.binary, args: []string{"-C", st.tree, "snapshot", "--json"}})
	if err != nil {
		return "", err
	}
	var reply struct{ ID string }
	if err := json.Unmarshal(out, &reply); err != nil || reply.ID == "" {
		return "", fmt.Errorf("snapshot gave no id: %q", out)
	}
	return reply.ID, nil
}

func (rewind) restore(ctx context.Context, st *stage, id string) error {
	_, err := st.run(ctx, command{name: st.binary, args: []string{"-C", st.tree, "restore", id, "--yes", "--json"}})
	return err
}

func (rewind) content(ctx context.Context, st *stage, id, name string) ([]byte, error) {
	return st.run(ctx, command{name: st.binary, args: []string{"-C", st.tree, "cat", id + ":" + name}})
}

// hook is the sequence of pi-rewind-hook 1.8: everything is added to an empty
// index; a chain of commits under one ref keeps the snapshots. The ref is named
// differently here, as rewind's is the same.
type hook struct{}

const hookRef = "refs/bench/hook"

func (hook) name() string { return "pi-rewind-hook" }

func (hook) forget(ctx context.Context, st *stage) error { return dropRef(ctx, st, hookRef) }

// tree records the worktree as a tree through an index of its own.
func (hook) tree(ctx context.Context, st *stage) (string, error) {
	index, err := st.freshIndex()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(index))
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := st.run(ctx, command{name: "git", args: []string{"add", "-A"}, env: env}); err != nil {
		return "", err
	}
	out, err := st.run(ctx, command{name: "git", args: []string{"write-tree"}, env: env})
	return strings.TrimSpace(string(out)), err
}

// keep commits a tree and ties the commit to the chain.
func (hook) keep(ctx context.Context, st *stage, tree string) (string, error) {
	snapshot, err := st.git(ctx, "commit-tree", tree, "-m", "pi rewind snapshot")
	if err != nil {
		return "", err
	}
	out, err := st.run(ctx, command{name: "git", args: []string{"rev-parse", "-q", "--verify", hookRef}, codes: []int{1}})
	if err != nil {
		return "", err
	}
	last := strings.TrimSpace(string(out))
	empty, err := st.run(ctx, command{name: "git", args: []string{"hash-object", "-t", "tree", "-w", "--stdin"}})
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", strings.TrimSpace(string(empty)), "-m", "pi rewind store"}
	if last != "" {
		args = append(args, "-p", last)
	}
	kept, err := st.git(ctx, append(args, "-p", snapshot)...)
	if err != nil {
		return "", err
	}
	if last == "" {
		last = strings.Repeat("0", len(kept)) // git's way to say: must not exist
	}
	_, err = st.git(ctx, "update-ref", hookRef, kept, last)
	return snapshot, err
}

func (h hook) snapshot(ctx context.Context, st *stage) (string, error) {
	if _, err := st.git(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return "", err
	}
	tree, err := h.tree(ctx, st)
	if err != nil {
		return "", err
	}
	return h.keep(ctx, st, tree)
}

func (h hook) restore(ctx context.Context, st *stage, id string) error {
	now, err := h.tree(ctx, st)
	if err != nil {
		return err
	}
	if _, err := h.keep(ctx, st, now); err != nil {
		return err
	}
	created, err := st.git(ctx, "diff", "--name-only", "--diff-filter=D", "-z", now, id, "--")
	if err != nil {
		return err
	}
	for _, name := range split0(created) {
		if err := os.RemoveAll(st.path(name)); err != nil {
			return err
		}
	}
	_, err = st.git(ctx, "restore", "--source="+id, "--worktree", "--", ".")
	return err
}

func (hook) content(ctx context.Context, st *stage, id, name string) ([]byte, error) {
	return st.run(ctx, command{name: "git", args: []string{"cat-file", "blob", id + ":" + name}})
}

// freshIndex gives the name of an index file that does not exist, in a directory of its own.
func (st *stage) freshIndex() (string, error) {
	dir, err := os.MkdirTemp("", "rewind-bench-index-")
	return filepath.Join(dir, "index"), err
}

// dropRef deletes a ref if it is there.
func dropRef(ctx context.Context, st *stage, ref string) error {
	_, err := st.git(ctx, "update-ref", "-d", ref)
	return err
}

// emptyDir removes what is in a directory.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
