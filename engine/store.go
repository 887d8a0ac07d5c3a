package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// view reads the store if there is one; without one there is nothing to read.
func (e *Engine) view(ctx context.Context, f func(*records.View) error) error {
	s, err := e.opened(ctx)
	if err != nil || s == nil {
		return err
	}
	return objects.StoreError(s.View(ctx, func(v *cas.View) error { return f(records.In(v, e.owner())) }))
}

// update changes the store in a transaction of its own, which is durable when
// update returns nil. There must be a store.
func (e *Engine) update(ctx context.Context, f func(*records.Update) error) error {
	s, err := e.opened(ctx)
	if err != nil {
		return err
	}
	return objects.StoreError(s.Update(ctx, e.changing(f)))
}

// updateIfThere changes the store, if there is one.
func (e *Engine) updateIfThere(ctx context.Context, f func(*records.Update) error) error {
	if s, err := e.opened(ctx); err != nil || s == nil {
		return err
	}
	return e.update(ctx, f)
}

// changing turns a change of the records into a change of the store.
func (e *Engine) changing(f func(*records.Update) error) func(*cas.Update) error {
	return func(u *cas.Update) error { return f(records.Change(u, e.owner())) }
}

// owner is the worktree as its records name it.
func (e *Engine) owner() *records.Owner {
	return &records.Owner{Key: e.key, Birth: e.birth, Root: Path(e.root), Git: e.repo != nil, Now: e.now}
}

// isRecorded reports whether the store has a snapshot under this very id.
func (e *Engine) isRecorded(ctx context.Context, id oid.ID) (bool, error) {
	return records.Read(ctx, e.view, func(v *records.View) (bool, error) { return v.Recorded(id) })
}

// history reads the worktree's history.
func (e *Engine) history(ctx context.Context) (records.History, error) {
	return records.Read(ctx, e.view, (*records.View).History)
}

// sweptTries is how often a snapshot begins again because of a sweep or a restore.
const sweptTries = 5

// needStore returns the store, made if it is not there yet.
func (e *Engine) needStore(ctx context.Context) (*cas.Store, error) {
	s, err := e.openStore(ctx, true)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("the store cannot be made in %s: %w: %s", e.dir, err, e.elsewhere())
		}
		return nil, err
	}
	if e.repo == nil && e.beside == nil {
		_ = locate.Note(e.dir, e.root, e.isApart()) // without it the store is not found when the directory is renamed
	}
	return s, nil
}

// isApart reports whether somebody wants the store beside git. A resume leaves git out unasked: its directory is empty.
func (e *Engine) isApart() bool {
	if e.opt.NoGit {
		url, err := e.Remotes().Begun()
		return err != nil || url == ""
	}
	return e.aside != ""
}

// openStore opens the store if it exists, or makes it.
func (e *Engine) openStore(ctx context.Context, create bool) (*cas.Store, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store != nil {
		return e.store, nil
	}
	if create {
		if err := durable.MakeDir(e.dir); err != nil {
			return nil, err
		}
		if e.repo == nil { // where others write too, somebody may have been faster
			if _, err := locate.OpenStores(e.opt.Getenv); err != nil {
				return nil, err
			}
		}
	}
	s, err := cas.Open(ctx, filepath.Join(e.dir, storeFile), &cas.Options{Algorithm: e.alg, Create: create})
	if err != nil {
		return nil, objects.StoreError(err)
	}
	if s.Algorithm() != e.alg {
		return nil, fmt.Errorf("%w: the store at %s uses %v ids, the repository %v", ErrDamaged, s.Path(), s.Algorithm(), e.alg)
	}
	e.store = s
	return s, nil
}

// takeStore takes over the store that another engine has open, if it is the one that
// would be opened, and can be read. One that was found damaged is opened anew: who
// opens it is told of that once. Used reports whether it is known to have a snapshot.
func (e *Engine) takeStore(ctx context.Context, from *Engine) (used bool) {
	from.mu.Lock()
	defer from.mu.Unlock()
	s := from.store
	if s == nil || s.Path() != filepath.Join(e.dir, storeFile) || s.Algorithm() != e.alg || s.Mended() {
		return false
	}
	err := s.View(ctx, func(v *cas.View) error {
		used = !records.In(v, e.owner()).Empty()
		return nil
	})
	if err != nil {
		return false // opening it says what is wrong, or finds another store in its place
	}
	e.store, from.store = s, nil
	return used
}

// opened returns the store, nil if there is none yet. Another process may have
// made it since, and have it locked: then it waits.
func (e *Engine) opened(ctx context.Context) (*cas.Store, error) {
	s, err := e.openStore(ctx, false)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return s, err
}

// atHand returns the store that this engine has open, nil if it has none.
func (e *Engine) atHand() *cas.Store {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.store
}

// lockOperations waits until nobody restores files, and lets nobody until it is released.
func (e *Engine) lockOperations(ctx context.Context) (*durable.Held, error) {
	if err := durable.MakeDir(e.ownDir); err != nil {
		return nil, err
	}
	return durable.Lock(ctx, filepath.Join(e.ownDir, lockFile), durable.Exclusive)
}

// sessions is what the conversations of agents say of this store.
func (e *Engine) sessions() *retention.Sessions {
	return &retention.Sessions{
		View: e.view, Update: e.update, Getenv: e.opt.Getenv, Home: e.home(), AgentDirs: e.conf.AgentDirs,
		Root: e.root, MayBeOurs: locate.MayBeOurs(e.repo, e.opt.Getenv),
	}
}

// Stores lists the stores of directories without git, by the names of their folders.
// [Store.Remove] removes one with all its history.
func Stores(ctx context.Context, getenv func(string) string) ([]Store, error) {
	s, err := locate.OpenStores(getenv)
	if err != nil {
		return nil, err
	}
	return s.List(ctx)
}
