package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/mirror"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// Open finds the worktree that dir belongs to. In a git repository that is the
// whole git worktree, however deep dir lies; elsewhere the nearest directory
// at or above dir that has snapshots, or dir itself. Nothing is created. The store of
// a directory that was renamed is given the folder of its new name.
func Open(ctx context.Context, dir string, opt *Options) (*Engine, error) {
	e := &Engine{}
	return e.open(ctx, dir, opt, &Engine{})
}

// Beside opens a directory, which is no repository, as one more worktree of this one's
// store, without git.
func (e *Engine) Beside(ctx context.Context, dir string, opt *Options) (*Engine, error) {
	there := &Engine{beside: e}
	return there.open(ctx, dir, opt, &Engine{})
}

// open opens an engine, with what an old one holds open where that is what would be
// opened.
func (e *Engine) open(ctx context.Context, dir string, opt *Options, old *Engine) (_ *Engine, err error) {
	e.now = time.Now
	defer func() {
		if err != nil {
			_ = e.Close()
		}
	}()
	if opt != nil {
		e.opt = *opt
	}
	if e.opt.Getenv == nil {
		e.opt.Getenv = os.Getenv
	}
	if err := e.locate(dir); err != nil {
		return nil, err
	}
	e.repo.TakeOver(old.repo)
	e.ownAlgorithm(ctx, old)
	e.objects = &objects.Objects{Algorithm: e.alg, Git: e.repo, Store: e.opened}
	e.lookup = e.newLookup()
	e.mirror = (&mirror.Mirror{Objects: e.objects, View: e.view, Update: e.update}).With(e.watch.rest())
	if e.repo != nil { // git's own rules are there too: it must be readable
		if e.git, err = e.repo.Config(); err != nil {
			return nil, err
		}
	}
	e.conf = settings.Load(settings.Sources{File: e.userConfig(), Git: e.git, Env: e.opt.Getenv})
	if e.aside != "" {
		e.conf.Warn(e.aside)
	}
	if e.movedFrom != "" && e.movedFrom != e.root {
		e.conf.Warn(fmt.Sprintf("the history of %s is used here: it is the same directory, which was renamed", e.movedFrom))
	}
	if err := e.allowed(); err != nil {
		return nil, err
	}
	if e.opt.NoStore {
		return e, nil
	}
	used := e.takeStore(ctx, old)
	if _, err := e.opened(ctx); err != nil {
		return nil, err
	}
	if err := e.inherit(ctx, used); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close releases what the engine holds. Nothing unwritten is lost by it.
func (e *Engine) Close() error {
	var errs []error
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	if e.store != nil {
		errs = append(errs, e.store.Close())
	}
	if e.repo != nil {
		errs = append(errs, e.repo.Close())
	}
	return errors.Join(errs...)
}

// locate finds root, repository and store of a directory.
func (e *Engine) locate(dir string) (err error) {
	if b := e.beside; b != nil {
		e.root, e.key, e.alg, e.dir, e.ownDir = dir, "fork "+dir, b.alg, b.dir, filepath.Join(b.dir, "forks", filepath.Base(dir))
		e.birth, err = dirfd.Birth(dir)
		return err
	}
	p, err := locate.Find(dir, locate.Options{NoGit: e.opt.NoGit, Getenv: e.opt.Getenv})
	if err != nil {
		return err
	}
	e.root, e.key, e.birth, e.alg, e.repo = p.Root, p.Key, p.Birth, p.Algorithm, p.Repo
	e.dir, e.ownDir, e.movedFrom, e.aside = p.Store, p.Own, p.From, p.Warning()
	return nil
}

// ownAlgorithm takes the algorithm of a store without git that is there: a history that
// came from a repository has kept its ids. What is wrong with the store is told by who needs it.
func (e *Engine) ownAlgorithm(ctx context.Context, old *Engine) {
	path := filepath.Join(e.dir, storeFile)
	if e.repo != nil || e.beside != nil || e.opt.NoStore {
		return
	}
	if s := old.atHand(); s != nil && s.Path() == path {
		e.alg = s.Algorithm()
		return
	}
	if s, err := cas.Open(ctx, path, &cas.Options{}); err == nil {
		e.alg, e.store = s.Algorithm(), s
	}
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
	if e.repo == nil && locate.Within(e.root, e.dir) {
		return fmt.Errorf("%w: %s holds rewind's own store at %s (use --force if you mean it)", ErrRefused, e.root, e.dir)
	}
	return nil
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

// elsewhere says where a store could be made instead.
func (e *Engine) elsewhere() string {
	if e.repo != nil {
		return "\"rewind --no-git\" keeps one in your own state directory"
	}
	return "set XDG_STATE_HOME to a directory of yours"
}
