package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// opencode is the sequence of OpenCode 1.18: a git directory of its own that
// borrows the repository's objects and begins with a copy of its index.
type opencode struct{}

// keptIn is OpenCode's git directory: not in the state directory, which rewind's
// forget empties.
func (opencode) keptIn(l *lane) string { return filepath.Join(l.tree, ".git", "bench-opencode") }

func (o opencode) forget(_ context.Context, l *lane) error { return os.RemoveAll(o.keptIn(l)) }

// git runs a command on OpenCode's git directory.
func (o opencode) git(ctx context.Context, l *lane, c command) (string, error) {
	c.name, c.args = "git", append([]string{"--git-dir", o.keptIn(l), "--work-tree", l.tree}, c.args...)
	out, err := l.run(ctx, c)
	return string(out), err
}

// prepare makes the git directory if there is none.
func (o opencode) prepare(ctx context.Context, l *lane) error {
	dir := o.keptIn(l)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	env := []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + l.tree}
	if _, err := l.run(ctx, command{name: "git", args: []string{"init", "-q"}, env: env}); err != nil {
		return err
	}
	for _, set := range []string{"core.autocrlf false", "core.longpaths true", "core.symlinks true", "core.fsmonitor false",
		"feature.manyFiles true", "index.version 4", "index.threads true", "core.untrackedCache true"} {
		key, value, _ := strings.Cut(set, " ")
		if _, err := o.git(ctx, l, command{args: []string{"config", key, value}}); err != nil {
			return err
		}
	}
	objects := filepath.Join(l.tree, ".git", "objects")
	if err := os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(objects+"\n"), 0o644); err != nil {
		return err
	}
	index, err := os.ReadFile(filepath.Join(l.tree, ".git", "index"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "index"), index, 0o644)
}

func (o opencode) snapshot(ctx context.Context, l *lane) (string, error) {
	if err := o.prepare(ctx, l); err != nil {
		return "", err
	}
	var changed, others string
	var errChanged, errOthers error
	var both sync.WaitGroup
	both.Go(func() {
		changed, errChanged = o.git(ctx, l, command{args: []string{"diff-files", "--name-only", "-z"}})
	})
	both.Go(func() {
		others, errOthers = o.git(ctx, l, command{args: []string{"ls-files", "--others", "--exclude-standard", "-z"}})
	})
	both.Wait()
	if err := firstError(errChanged, errOthers); err != nil {
		return "", err
	}
	if list := changed + others; list != "" {
		ignored, err := o.git(ctx, l, command{args: []string{"check-ignore", "--no-index", "--stdin", "-z"}, stdin: []byte(list), codes: []int{1}})
		if err != nil {
			return "", err
		}
		add := command{args: []string{"add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"}, stdin: []byte(without(list, ignored))}
		if _, err := o.git(ctx, l, add); err != nil {
			return "", err
		}
	}
	tree, err := o.git(ctx, l, command{args: []string{"write-tree"}})
	return strings.TrimSpace(tree), err
}

// restore is OpenCode's undo: the present is recorded, and then the files that
// differ are checked out or deleted, a hundred at a time.
func (o opencode) restore(ctx context.Context, l *lane, id string) error {
	now, err := o.snapshot(ctx, l)
	if err != nil {
		return err
	}
	list, err := o.git(ctx, l, command{args: []string{"diff-tree", "-r", "--no-renames", "--name-only", "-z", id, now}})
	if err != nil {
		return err
	}
	for files := split0(list); len(files) > 0; files = files[min(100, len(files)):] {
		if err := o.putBack(ctx, l, id, files[:min(100, len(files))]); err != nil {
			return err
		}
	}
	_, err = o.git(ctx, l, command{args: []string{"diff", "--no-ext-diff", "--no-renames", "--name-only", id, "--", "."}})
	return err
}

// putBack makes a batch of files what they are in a tree.
func (o opencode) putBack(ctx context.Context, l *lane, tree string, files []string) error {
	there, err := o.git(ctx, l, command{args: append([]string{"ls-tree", "--name-only", "-z", tree, "--"}, files...)})
	if err != nil {
		return err
	}
	if kept := split0(there); len(kept) > 0 {
		if _, err := o.git(ctx, l, command{args: append([]string{"checkout", "-q", tree, "--"}, kept...)}); err != nil {
			return err
		}
	}
	for _, name := range split0(without(strings.Join(files, "\x00"), there)) {
		if err := os.Remove(l.path(name)); err != nil {
			return err
		}
	}
	return nil
}

func (o opencode) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	out, err := o.git(ctx, l, command{args: []string{"cat-file", "blob", id + ":" + name}})
	return []byte(out), err
}

// without gives the -z list less the names of another.
func without(list, less string) string {
	drop := map[string]bool{}
	for _, name := range split0(less) {
		drop[name] = true
	}
	var b strings.Builder
	for _, name := range split0(list) {
		if !drop[name] {
			b.WriteString(name + "\x00")
		}
	}
	return b.String()
}

// piRewind is the sequence of pi-rewind 0.5: git status names what to add to an
// index read from HEAD; the restore goes through HEAD and the user's index.
type piRewind struct{}

const piRewindRefs = "refs/bench/pi-rewind/"

func (piRewind) forget(ctx context.Context, l *lane) error {
	refs, err := l.git(ctx, "for-each-ref", "--format=%(refname)", piRewindRefs)
	for _, ref := range strings.Fields(refs) {
		err = firstError(err, dropRef(ctx, l, ref))
	}
	return err
}

func (piRewind) snapshot(ctx context.Context, l *lane) (string, error) {
	head, err := l.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	staged, err := l.git(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	status, err := l.git(ctx, "--no-optional-locks", "status", "--porcelain", "--no-renames", "-z", "--untracked-files=all")
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, line := range split0(status) {
		list.WriteString(line[3:] + "\x00") // after two letters of state and a blank
	}
	tree, err := treeOf(ctx, l, list.String())
	if err != nil {
		return "", err
	}
	id := fmt.Sprintf("turn-%d", time.Now().UnixNano())
	message := fmt.Sprintf("pi-rewind:%s\nhead %s\nindex-tree %s\nworktree-tree %s\n", id, head, staged, tree)
	commit, err := l.git(ctx, "commit-tree", tree, "-m", message)
	if err != nil {
		return "", err
	}
	_, err = l.git(ctx, "update-ref", piRewindRefs+id, commit)
	return commit, err
}

// treeOf writes the tree of HEAD with the listed files as they are now.
func treeOf(ctx context.Context, l *lane, list string) (string, error) {
	index, err := l.freshIndex()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(index))
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := l.run(ctx, command{name: "git", args: []string{"read-tree", "HEAD"}, env: env}); err != nil {
		return "", err
	}
	if list != "" {
		add := command{name: "git", args: []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}, env: env, stdin: []byte(list)}
		if _, err := l.run(ctx, add); err != nil {
			return "", err
		}
	}
	out, err := l.run(ctx, command{name: "git", args: []string{"write-tree"}, env: env})
	return strings.TrimSpace(string(out)), err
}

func (p piRewind) restore(ctx context.Context, l *lane, id string) error {
	message, err := l.git(ctx, "cat-file", "commit", id)
	if err != nil {
		return err
	}
	_, staged, _ := strings.Cut(message, "\nindex-tree ")
	staged, _, _ = strings.Cut(staged, "\n")
	if _, err := p.snapshot(ctx, l); err != nil { // the undo
		return err
	}
	for _, args := range [][]string{{"reset", "-q", "--hard", "HEAD"}, {"read-tree", "--reset", "-u", id}} {
		if _, err := l.git(ctx, args...); err != nil {
			return err
		}
	}
	others, err := l.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return err
	}
	for files := split0(others); len(files) > 0; files = files[min(100, len(files)):] {
		if _, err := l.git(ctx, append([]string{"clean", "-q", "-f", "--"}, files[:min(100, len(files))]...)...); err != nil {
			return err
		}
	}
	_, err = l.git(ctx, "read-tree", "--reset", staged)
	return err
}

func (piRewind) content(ctx context.Context, l *lane, id, name string) ([]byte, error) {
	return hook{}.content(ctx, l, id, name)
}
