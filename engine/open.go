package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-82afce7a/rewind/engine/mirror"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/settings"
)

// Open finds the worktree that dir belongs to. In a git repository that is the
// whole git worktree, however deep dir lies; elsewhere the nearest directory
// at or above dir that has snapshots, or dir itself. Nothing is created. The store of
// a directory that was renamed is given the folder of its new name.
func Open(ctx context.Context, dir string, opt *Options) (*Engine, error) {
	return open(ctx, dir, opt, &Engine{})
}

// Reopen is [Open] for who has had an engine open, of whatever directory, and closes
// that one, also where it fails. Everything that Open looks at is looked at again:
// whose the repository and the store are, where they lie, every setting. What the
// old engine holds open is taken over where it still is what would be opened.
func (e *Engine) Reopen(ctx context.Context, dir string, opt *Options) (*Engine, error) {
	next, err := open(ctx, dir, opt, e)
	_ = e.Close()
	return next, err
}

func open(ctx context.Context, dir string, opt *Options, old *Engine) (_ *Engine, err error) {
	e := &Engine{now: time.Now}
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
	if dir, err = realDir(dir); err != nil {
		return nil, err
	}
	if err := e.locate(dir); err != nil {
		return nil, err
	}
	e.objects = &objects.Objects{Algorithm: e.alg, Git: e.repo, Store: e.opened}
	e.lookup = e.newLookup()
	e.mirror = &mirror.Mirror{Objects: e.objects, View: e.view, Update: e.update}
	if e.birth, err = e.birthOf(); err != nil {
		return nil, err
	}
	if e.repo != nil { // git's own rules are there too: it must be readable
		if e.git, err = e.repo.Config(); err != nil {
			return nil, err
		}
	}
	e.conf = settings.Load(settings.Sources{File: e.userConfig(), Git: e.git, Env: e.opt.Getenv})
	if e.aside != nil {
		e.conf.Warn(e.asideWarning())
	}
	if e.movedFrom != "" && e.movedFrom != e.root {
		e.conf.Warn(fmt.Sprintf("the history of %s is used here: it is the same directory, which was renamed", e.movedFrom))
	}
	if err := e.allowed(); err != nil {
		return nil, err
	}
	e.takeStore(ctx, old)
	if err := e.openStore(false); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := e.inherit(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close releases what the engine holds. Nothing unwritten is lost by it.
func (e *Engine) Close() error {
	var errs []error
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store != nil {
		errs = append(errs, e.store.Close())
	}
	if e.repo != nil {
		errs = append(errs, e.repo.Close())
	}
	return errors.Join(errs...)
}
