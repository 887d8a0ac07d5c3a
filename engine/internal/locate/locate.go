// Package locate finds, for a directory, the worktree that it belongs to, and where
// its git and its store lie; and it refuses what must not be used.
//
// A directory without git has its store among others ([Stores]). One that became a
// repository has its history in two stores then: the repository's takes over what the
// old one has, written anew under its own hash ([TakeOver]).
//
// Finding makes nothing, and opens no store. What is not the user's own is neither obeyed
// nor written (docs/decisions/0013-trust.md): then git is left out, and the directory
// recorded in the user's own store.
package locate

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// Options say how to look.
type Options struct {
	NoGit  bool // leave git out even inside a repository
	Getenv func(string) string
}

// A Place is a worktree, its git and its store.
type Place struct {
	Root      string          // absolute, symbolic links resolved
	Key       string          // names the worktree in the store
	Birth     string          // tells its directory from others that have or had that name
	Algorithm oid.Algorithm   // of every id
	Repo      *gitbridge.Repo // nil without git; the caller closes it
	Store     string          // the directory where the store lies
	Own       string          // that of this worktree alone: the stat table and the operation lock lie there
	From      string          // where the directory was when its store was last written; "": here
	Aside     *trust.Foreign  // why git is left out of a directory that has it; nil: it is not
}

// unfit says why a directory cannot be recorded at all.
func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{records.ErrRefused}, args...)...)
}

// Find finds the place of a directory.
func Find(dir string, opt Options) (*Place, error) {
	dir, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	p, err := find(dir, opt)
	if err != nil {
		return nil, err
	}
	if p.Birth, err = birthOf(p); err != nil && p.Repo != nil {
		err = errors.Join(err, p.Repo.Close())
	}
	return p, err
}

// find is Find for a real path.
func find(dir string, opt Options) (*Place, error) {
	p := &Place{}
	if !opt.NoGit {
		layout, err := gitconf.Discover(dir, &gitconf.Options{Env: opt.Getenv})
		switch {
		case err == nil:
			err = p.repository(dir, layout, opt)
		case !errors.Is(err, gitconf.ErrNotRepository) && !errors.Is(err, trust.ErrForeign):
			return nil, fmt.Errorf("%w (\"rewind --no-git\" records without git)", err)
		}
		if foreign := (*trust.Foreign)(nil); errors.As(err, &foreign) {
			return leaveGitOut(dir, foreign, opt)
		}
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, gitconf.ErrNotRepository) {
			return nil, err
		}
	}
	return without(dir, dir, opt)
}

// repository makes p the place of a directory in a repository.
func (p *Place) repository(dir string, l *gitconf.Layout, opt Options) error {
	if l.Worktree == "" && !l.Bare {
		return unfit("%s is inside a git directory", dir)
	}
	if l.Worktree == "" || l.Bare {
		return unfit("%s is a bare repository, which has no files to record", l.GitDir)
	}
	if Within(l.CommonDir, dir) && Within(l.Worktree, l.CommonDir) {
		return unfit("%s is inside a git directory", dir)
	}
	root := dir
	if l.Worktree != dir {
		var err error
		if root, err = realPath(l.Worktree); err != nil {
			return err
		}
	}
	if l.Swallows() {
		return &trust.Foreign{Path: l.GitDir, Why: "puts its worktree at " + root + ", above the directory that it stands in"}
	}
	if !Within(root, dir) {
		if Within(l.CommonDir, dir) || Within(l.GitDir, dir) {
			return unfit("%s is inside a git directory", dir)
		}
		return &trust.Foreign{Path: l.GitDir, Why: "puts its worktree at " + root + ", where this directory is not"}
	}
	p.Store, p.Own = filepath.Join(l.CommonDir, "rewind"), filepath.Join(l.GitDir, "rewind")
	if err := p.checkOwner(l, opt); err != nil {
		return err
	}
	birth, err := dirfd.Birth(l.CommonDir)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(birth, "born ") {
		birth = rand.Text() // nothing is known that an archive could not have: only this process's notes count
	}
	rel, err := filepath.Rel(l.CommonDir, l.GitDir)
	if err != nil {
		return err
	}
	p.Root, p.Algorithm, p.Key = root, l.Algorithm, filepath.ToSlash(rel)
	p.Repo, err = gitbridge.Open(l, &gitbridge.Options{Own: filepath.Join(p.Store, "ref"), Birth: birth})
	return err
}

// without returns the place of a directory without git, or of which git is left out:
// dir or one of the directories above it, up to base, which it is if none has a store.
func without(dir, base string, opt Options) (*Place, error) {
	all, err := OpenStores(opt.Getenv)
	if err != nil {
		return nil, err
	}
	root, folder, from, err := all.nearest(dir, base)
	if err != nil {
		return nil, err
	}
	return &Place{Root: root, Key: ".", Algorithm: oid.BLAKE3, Store: folder, Own: folder, From: from}, nil
}

// Within reports whether path is dir or lies below it.
func Within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// nowhere says why nobody knows where the current directory is.
func nowhere(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the current directory is gone (%w): go to another one", err)
	}
	return fmt.Errorf("the current directory cannot be read (%w): permit that, or go to another one", err)
}

// realPath makes the path of a directory absolute and resolves its symbolic links.
func realPath(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", nowhere(err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no directory %s", dir)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	return real, nil
}
