package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// pick gives n files of the worktree, evenly spread, or half of them.
func (l *lane) pick(n int) []string {
	n = min(n, len(l.names.old)/2)
	var list []string
	for i := range n {
		list = append(list, l.names.old[(2*i+1)*len(l.names.old)/(2*n)])
	}
	return list
}

// edit gives n files bytes that they have never had.
func edit(_ context.Context, l *lane, n int) (changed, error) {
	files := l.pick(n)
	for _, name := range files {
		if err := l.editFile(name); err != nil {
			return changed{}, err
		}
	}
	return changed{files, len(files)}, nil
}

// editFile replaces the last line of a file by one that it has never had.
func (l *lane) editFile(name string) error {
	l.edits++
	data, err := os.ReadFile(l.path(name))
	if err != nil {
		return err
	}
	if head, _, edited := strings.Cut(string(data), "\n// edit "); edited {
		data = []byte(head)
	}
	return os.WriteFile(l.path(name), fmt.Appendf(data, "\n// edit %d\n", l.edits), 0o644)
}

// comeAndGo makes n files beside others, and deletes those that it made the last time.
func comeAndGo(_ context.Context, l *lane, n int) (changed, error) {
	beside := l.pick(n)
	var made []string
	for _, name := range beside {
		was := fmt.Sprintf("%s.%d.txt", name, l.edits)
		if err := os.Remove(l.path(was)); err != nil && !os.IsNotExist(err) {
			return changed{}, err
		}
		made = append(made, fmt.Sprintf("%s.%d.txt", name, l.edits+1))
	}
	l.edits++
	for _, name := range made {
		if err := os.WriteFile(l.path(name), fmt.Appendf(nil, "%s, made in turn %d\n", name, l.edits), 0o644); err != nil {
			return changed{}, err
		}
	}
	return changed{made, len(made)}, nil
}

// switchBranch checks out the one of two commits on which the worktree is not: they
// differ in n files.
func switchBranch(ctx context.Context, l *lane, n int) (changed, error) {
	if l.was == "" {
		if err := l.twoBranches(ctx, n); err != nil {
			return changed{}, err
		}
	}
	l.branch = 1 - l.branch
	_, err := l.git(ctx, "checkout", "-q", "--detach", l.branches[l.branch])
	return changed{l.pick(n), 0}, err
}

// twoBranches makes the other commit.
func (l *lane) twoBranches(ctx context.Context, n int) error {
	s := script{ctx: ctx, l: l}
	l.branches[0] = s.git("rev-parse", "HEAD")
	l.was = s.git("rev-parse", "--symbolic-full-name", "HEAD")
	s.do(func() error {
		_, err := edit(ctx, l, n)
		return err
	})
	s.git("checkout", "-q", "--detach")
	s.git("commit", "-q", "-a", "--no-verify", "-m", "another branch")
	l.branches[1], l.branch = s.git("rev-parse", "HEAD"), 1
	return s.err
}

// editLarge gives one MiB of a large file other bytes, and makes it if it is not there.
func editLarge(_ context.Context, l *lane, _ int) (changed, error) {
	const part = 1 << 20
	path := l.path("large.bin")
	l.edits++
	random := rand.NewChaCha8([32]byte{byte(l.edits), byte(l.edits >> 8)})
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return changed{}, err
	}
	defer f.Close()
	data := make([]byte, part)
	fi, err := f.Stat()
	if err != nil {
		return changed{}, err
	}
	for at := fi.Size(); at < l.large; at += part {
		random.Read(data)
		if _, err := f.WriteAt(data[:min(part, l.large-at)], at); err != nil {
			return changed{}, err
		}
	}
	random.Read(data)
	_, err = f.WriteAt(data[:min(part, l.large/2)], l.large/3)
	return changed{nil, 1}, firstError(err, f.Close())
}

// damage changes files of a clean checkout: of ten, eight have other bytes, one is
// deleted, and beside one there is a new one. Of more than ten the first is also
// a program now or no more, and a link leads elsewhere.
func (l *lane) damage(files []string) error {
	for i, name := range files {
		path := l.path(name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		l.edits++
		text := fmt.Appendf(nil, "%s// damage %d\n", data, l.edits)
		switch i % 10 {
		case 8:
			err = os.Remove(path)
		case 9:
			err = os.WriteFile(path+".new.txt", text, 0o644)
		default:
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if len(files) <= 10 {
		return nil
	}
	if len(l.names.links) > 0 {
		link := l.path(l.names.links[0])
		if err := firstError(os.Remove(link), os.Symlink("elsewhere", link)); err != nil {
			return err
		}
	}
	return os.Chmod(l.path(files[0]), 0o755)
}

// damaged is the harm of so many files.
func damaged(n int) func(l *lane) error {
	return func(l *lane) error {
		files := l.pick(n)
		l.harmed = len(files)
		return l.damage(files)
	}
}

// removed is the harm of rm -rf: directories go until n files, or half of them, are gone.
func removed(n int) func(l *lane) error {
	return func(l *lane) error {
		l.harmed = 0
		for _, d := range l.names.dirs {
			if d.path == "." || l.harmed+len(d.names) > min(n, l.names.files/2) {
				continue
			}
			if _, err := os.Lstat(filepath.Join(l.tree, d.path)); err != nil {
				continue // it lay in one that is gone
			}
			l.harmed += l.names.below(d.path)
			if err := os.RemoveAll(filepath.Join(l.tree, d.path)); err != nil {
				return err
			}
		}
		return nil
	}
}

// below counts the files in a directory and all below it.
func (n *names) below(dir string) (count int) {
	for _, d := range n.dirs {
		if d.path == dir || strings.HasPrefix(d.path, dir+string(filepath.Separator)) {
			count += len(d.names)
		}
	}
	return count
}

// holdsMost is how many files of a snapshot are read back after each turn. All of
// it is compared once, by a restore.
const holdsMost = 3

// holds checks that a snapshot has the present bytes of files.
func (l *lane) holds(ctx context.Context, id string, files []string) error {
	for i := range min(len(files), holdsMost) {
		name := files[i*len(files)/min(len(files), holdsMost)]
		want, err := os.ReadFile(l.path(name))
		if err != nil {
			return err
		}
		got, err := l.system.content(ctx, l, id, name)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return inexact{fmt.Sprintf("snapshot %s has no %s: %v", id, name, err)}
		}
		if !bytes.Equal(got, want) {
			return inexact{fmt.Sprintf("snapshot %s has other bytes of %s than the disk", id, name)}
		}
	}
	return nil
}
