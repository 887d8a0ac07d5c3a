package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/engine/shelf"
	"github.com/seed-82afce7a/rewind/git/gitbridge"
	"github.com/seed-82afce7a/rewind/git/gitconf"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// locate finds root, repository and store of a directory, which is real.
func (e *Engine) locate(dir string) error {
	if !e.opt.NoGit {
		layout, err := gitconf.Discover(dir, &gitconf.Options{Env: e.opt.Getenv, UseEnv: e.opt.UseEnv})
		switch {
		case err == nil:
			err = e.locateRepository(dir, layout)
		case !errors.Is(err, gitconf.ErrNotRepository) && !errors.Is(err, trust.ErrForeign):
			return fmt.Errorf("%w (\"rewind --no-git\" records without git)", err)
		}
		if foreign := (*trust.Foreign)(nil); errors.As(err, &foreign) {
			return e.leaveGitOut(dir, foreign)
		}
		if !errors.Is(err, gitconf.ErrNotRepository) {
			return err
		}
	}
	return e.locateDirectory(dir, dir)
}

func (e *Engine) locateRepository(dir string, l *gitconf.Layout) error {
	if l.Worktree == "" && !l.Bare {
		return fmt.Errorf("%w: %s is inside a git directory", ErrRefused, dir)
	}
	if l.Worktree == "" || l.Bare {
		return fmt.Errorf("%w: %s is a bare repository, which has no files to record", ErrRefused, l.GitDir)
	}
	if within(l.CommonDir, dir) && within(l.Worktree, l.CommonDir) {
		return fmt.Errorf("%w: %s is inside a git directory", ErrRefused, dir)
	}
	root, err := realDir(l.Worktree)
	if err != nil {
		return err
	}
	if l.Swallows() {
		return &trust.Foreign{Path: l.GitDir, Why: "puts its worktree at " + root + ", above the directory that it stands in"}
	}
	if !within(root, dir) && !e.opt.UseEnv {
		if within(l.CommonDir, dir) || within(l.GitDir, dir) {
			return fmt.Errorf("%w: %s is inside a git directory", ErrRefused, dir)
		}
		return &trust.Foreign{Path: l.GitDir, Why: "puts its worktree at " + root + ", where this directory is not"}
	}
	e.dir, e.ownDir = filepath.Join(l.CommonDir, "rewind"), filepath.Join(l.GitDir, "rewind")
	if err := e.ownStore(l); err != nil {
		return err
	}
	birth, err := dirfd.Birth(l.CommonDir)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(birth, "born ") {
		birth = rand.Text() // nothing is known that an archive could not have: only this process's notes count
	}
	repo, err := gitbridge.Open(l, &gitbridge.Options{Own: filepath.Join(e.dir, "ref"), Birth: birth})
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(l.CommonDir, l.GitDir)
	if err != nil {
		return err
	}
	e.repo, e.root, e.alg, e.key = repo, root, l.Algorithm, filepath.ToSlash(rel)
	return nil
}

// locateDirectory chooses, among dir and the directories above it, the nearest
// that has a store; base, which is one of them, if none has.
func (e *Engine) locateDirectory(dir, base string) error {
	s, err := e.shelf()
	if err != nil {
		return err
	}
	e.root, e.alg, e.key = base, oid.BLAKE3, "."
	e.dir = s.Folder(base)
	elsewhere := s.Finder()
	for at := dir; ; at = filepath.Dir(at) {
		if folder := s.Folder(at); shelf.Has(folder) {
			e.root, e.dir = at, folder
			break
		}
		if lost, ok := elsewhere(at); ok {
			e.root, e.dir, e.movedFrom = at, s.Follow(lost, at), lost.Root
			break
		}
		if at == filepath.Dir(at) || at == base && base != dir {
			break
		}
	}
	e.ownDir = e.dir
	if err := s.Own(placesOf(e.dir)...); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

// shelf returns where stores of directories without git lie.
func (e *Engine) shelf() (*shelf.Shelf, error) {
	s, err := shelf.Open(e.opt.Getenv)
	if errors.Is(err, shelf.ErrForeign) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return s, err
}

// userConfig is the user's own file of settings, for all repositories and
// directories.
func (e *Engine) userConfig() string {
	if d := e.opt.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "rewind", "config")
	}
	return filepath.Join(e.home(), ".config", "rewind", "config")
}

func (e *Engine) home() string {
	if h := e.opt.Getenv("HOME"); filepath.IsAbs(h) {
		return h
	}
	return e.opt.Getenv("USERPROFILE")
}

// allowed refuses worktrees that are almost surely a mistake: recording a home
// directory or a whole system fills disks, and restoring it is worse.
func (e *Engine) allowed() error {
	if e.opt.Force || e.conf.Force {
		return nil
	}
	if e.root == filepath.Dir(e.root) {
		return fmt.Errorf("%w: %s is the root of the file system (use --force if you mean it)", ErrRefused, e.root)
	}
	if home, err := filepath.EvalSymlinks(e.home()); err == nil && home == e.root {
		return fmt.Errorf("%w: %s is your home directory (use --force if you mean it)", ErrRefused, e.root)
	}
	if e.repo == nil && within(e.root, e.dir) {
		return fmt.Errorf("%w: %s holds rewind's own store at %s (use --force if you mean it)", ErrRefused, e.root, e.dir)
	}
	return nil
}

// within reports whether path is dir or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

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

// protected are the directories that no step writes into: the store, and
// whatever of git's own lies where a worktree could reach it.
func (e *Engine) protected() []string {
	dirs := []string{e.dir, e.ownDir}
	if e.repo != nil {
		l := e.repo.Layout()
		dirs = append(dirs, l.GitDir, l.CommonDir, l.Objects)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}

// realDir makes dir absolute and resolves its symbolic links.
func realDir(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("the current directory is gone (%w): go to another one", err)
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
