package locate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// A Leaving is what is ours of a directory or a repository, and is taken away with it.
type Leaving struct {
	Root      string   // of the worktree
	Folders   []string // with all that is in them; the store's is the first, if it is there
	Bytes     int64    // in them
	Snapshots int      // in the store
	Roots     []string // of the worktrees that share it, as far as they are there
	Ref       string   // the ref that keeps snapshots in git; "": there is none
	Others    int      // snapshots of another program that it keeps, and goes on keeping
	Settings  []string // of ours in the repository's configuration
	Before    []Store  // that the directory had before it was a repository: their history would come back
	Stays     []string // what is left, and why: a sentence each

	Take func(context.Context) error // takes it away

	held []*durable.Held
}

// Nothing reports whether there is nothing to take away.
func (l *Leaving) Nothing() bool {
	return len(l.Folders)+len(l.Settings)+len(l.Before) == 0 && l.Ref == ""
}

// FindFolders finds the folders that are ours: a store's, what an interrupted removal of
// it left, and those of a repository's linked worktrees, if it is one's. What is in the way
// of a removal is an error: it would stop there, with a part of it done.
func (l *Leaving) FindFolders(store, commonDir string, env func(string) string) error {
	list := []string{store, store + removedSuffix}
	if commonDir != "" {
		linked, err := filepath.Glob(filepath.Join(plain(commonDir), "worktrees", "*", "rewind"))
		if err != nil {
			return err
		}
		list = append(list, linked...)
	}
	judge := trust.Judge{Env: env}
	for _, folder := range list {
		info, err := os.Lstat(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.IsDir() {
			err = errors.New("it is no directory")
		}
		if err == nil {
			err = judge.Owns("", folder)
		}
		if err != nil && folder == store+removedSuffix && slices.Contains(l.Folders, store) {
			return fmt.Errorf("%s is where the store goes before it is removed, and is not ours: %w; move it away", folder, err)
		}
		if err != nil {
			l.Stays = append(l.Stays, fmt.Sprintf("%s: %v", folder, err))
			continue
		}
		l.Folders = append(l.Folders, folder)
		_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if info, err := d.Info(); err == nil {
					l.Bytes += info.Size()
				}
			}
			return nil
		})
	}
	return nil
}

// FindBefore finds the stores that a directory had before it was a repository.
func (l *Leaving) FindBefore(ctx context.Context, env func(string) string) error {
	all, err := OpenStores(env)
	if err != nil {
		return err
	}
	list, err := all.List(ctx)
	for _, st := range list {
		n, _ := readNote(st.Folder)
		switch {
		case st.Directory != l.Root || st.State != Stands && st.State != Passed:
		case n.Apart:
			l.Stays = append(l.Stays, "what was recorded here without git: \"rewind --no-git uninstall\" takes that away")
		default:
			l.Before = append(l.Before, st)
		}
	}
	return err
}

// RemoveBefore removes them.
func (l *Leaving) RemoveBefore() error {
	for _, st := range l.Before {
		if err := st.Remove(true); err != nil {
			return err
		}
	}
	return nil
}

// plain is a path as a pattern that matches it alone.
func plain(path string) string {
	out := ""
	for _, r := range path {
		if slices.Contains([]rune(`*?[`), r) || r == '\\' && filepath.Separator == '/' {
			out += `\`
		}
		out += string(r)
	}
	return out
}

// Lock takes the locks of all that change files of a worktree or the store, so that nobody does any more. A folder may
// lack the directory of one.
func (l *Leaving) Lock(names ...string) (unlock func(), err error) {
	var all []*durable.Held
	unlock = func() {
		for _, held := range all {
			_ = held.Unlock()
		}
		l.held = slices.DeleteFunc(l.held, func(h *durable.Held) bool { return slices.Contains(all, h) })
	}
	for _, folder := range l.Folders {
		for _, name := range names {
			held, err := durable.TryLock(filepath.Join(folder, filepath.FromSlash(name)), durable.Exclusive)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if errors.Is(err, durable.ErrLocked) {
				err = fmt.Errorf("%w: another process works with %s: wait for its end, or end it", ErrInUse, folder)
			}
			if err != nil {
				unlock()
				return nil, err
			}
			all, l.held = append(all, held), append(l.held, held)
		}
	}
	return unlock, nil
}

// RemoveFolders removes the folders, with what [Leaving.Lock] locked in them. The store's
// first gets a name under which no store is looked for: so it is wholly there or not at all,
// whatever happens meanwhile.
func (l *Leaving) RemoveFolders(store string) error {
	aside, stamp := store+removedSuffix, Stamp(store)
	if err := durable.LetGo(l.held...); err != nil {
		return err
	}
	if slices.Contains(l.Folders, aside) {
		if err := os.RemoveAll(aside); err != nil {
			return err
		}
	}
	if slices.Contains(l.Folders, store) {
		if err := setAside(store, aside, stamp); err != nil {
			return err
		}
	}
	var errs []error
	for _, folder := range append(slices.Clone(l.Folders), aside) {
		if folder != store {
			errs = append(errs, os.RemoveAll(folder))
		}
	}
	return errors.Join(errs...)
}
