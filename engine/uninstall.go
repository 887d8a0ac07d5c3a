package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Uninstall finds all that is ours of the directory or repository, with its history: the
// store and what lies beside it, our ref, our settings in the repository's configuration.
// Take of what it returns takes that away. Files of the worktree stay as they are. While
// a bisect stands open, an operation is unfinished, or another process works with the
// store, it is [ErrRefused] and nothing is done; a store that cannot be read, of which
// nobody knows that, goes with force alone. If it is interrupted, another call finishes
// it. Afterwards the engine is good for nothing but [Engine.Close].
func (e *Engine) Uninstall(ctx context.Context, force bool) (*locate.Leaving, error) {
	l, tip, err := e.leaving(ctx, force)
	if err != nil {
		return nil, err
	}
	l.Take = func(ctx context.Context) error { return e.leave(ctx, force, l, tip) }
	return l, nil
}

func (e *Engine) leave(ctx context.Context, force bool, l *locate.Leaving, tip oid.ID) error {
	unlock, err := l.Lock(lockFile, away.ResumeLock)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	defer func() { unlock() }()
	read, err := l.Lock(storeFile + ".lock") // to look into the store waits for who has it, without end
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	read()
	if _, _, err := e.leaving(ctx, force); err != nil { // somebody may have begun something
		return err
	}
	e.mu.Lock()
	if e.store != nil {
		err = e.store.Close()
	}
	e.store = nil
	e.mu.Unlock()
	last, bad := l.Lock(storeFile + ".lock")
	if err = errors.Join(err, bad); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	defer last()
	if e.repo != nil {
		if err := l.RemoveBefore(); err != nil {
			return err
		}
		if err := e.repo.Leave(ctx, tip, l.Settings); err != nil {
			return err
		}
	}
	if err := l.RemoveFolders(e.dir); err != nil {
		return err
	}
	if _, err := os.Lstat(e.dir); err == nil {
		return fmt.Errorf("%w: something was recorded meanwhile: end what calls rewind here, and do it again", ErrRefused)
	}
	return nil
}

// leaving finds what is ours, and refuses what must not be taken away now.
func (e *Engine) leaving(ctx context.Context, force bool) (l *locate.Leaving, tip oid.ID, err error) {
	l = &locate.Leaving{Root: e.root}
	common := ""
	if e.repo != nil {
		common = e.repo.Layout().CommonDir
	}
	if err := l.FindFolders(e.dir, common, e.opt.Getenv); err != nil {
		return nil, tip, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := e.settled(ctx, l); errors.Is(err, ErrDamaged) && !force {
		return nil, tip, fmt.Errorf("%w (--force takes it away all the same, with whatever is unfinished in it)", err)
	} else if err != nil && !(force && errors.Is(err, ErrDamaged)) {
		return nil, tip, err
	}
	if e.repo == nil {
		return l, tip, nil
	}
	if err := l.FindBefore(ctx, e.opt.Getenv); err != nil {
		return nil, tip, err
	}
	ours := 0
	if tip, ours, l.Others, err = e.repo.Whose(ctx); err != nil {
		return nil, tip, fmt.Errorf("%w (\"git update-ref -d %s\" removes the ref)", err, gitbridge.StoreRef)
	}
	if !tip.IsZero() && (ours > 0 || l.Others == 0) {
		l.Ref = gitbridge.StoreRef
	}
	for _, s := range e.git.Settings() {
		switch name, ours := strings.CutPrefix(s.Name, "rewind."); {
		case !ours || strings.Contains(name, ".") || s.Scope != gitconf.Local && s.Scope != gitconf.Worktree || slices.Contains(l.Settings, s.Name):
		case s.File == filepath.Join(common, "config"):
			l.Settings = append(l.Settings, s.Name)
		default:
			l.Stays = append(l.Stays, fmt.Sprintf("%s in %s: that is not the repository's own file", s.Name, s.File))
		}
	}
	if l.Ref != "" || len(l.Settings) > 0 {
		if err := e.repo.NeedsProgram(); err != nil {
			return nil, tip, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	return l, tip, nil
}

// settled makes sure that nothing is begun and not ended in any worktree of the store.
func (e *Engine) settled(ctx context.Context, l *locate.Leaving) error {
	s, err := e.opened(ctx)
	if err != nil || s == nil {
		return err
	}
	return objects.StoreError(s.View(ctx, func(cv *cas.View) error {
		v := records.In(cv, e.owner())
		_, total, err := v.Count()
		if err != nil {
			return err
		}
		l.Snapshots, l.Roots = total, nil
		all, err := v.Worktrees()
		if err != nil {
			return err
		}
		for key, w := range all {
			if info, err := os.Stat(string(w.Root)); err != nil || !info.IsDir() {
				continue
			}
			l.Roots = append(l.Roots, string(w.Root))
			h, err := records.In(cv, &records.Owner{Key: key, Birth: w.Birth, Root: w.Root, Now: e.now}).History()
			switch {
			case err != nil:
				return err
			case h.Open != nil || h.Strange != nil:
				return fmt.Errorf("%w: an operation in %s was interrupted: \"rewind -C %[2]s sync\" finishes it, \"rewind -C %[2]s undo\" takes it back", ErrRefused, w.Root)
			case h.Bisect != nil:
				return fmt.Errorf("%w: a bisect stands open in %s: \"rewind -C %[2]s bisect reset\" puts back what was there before", ErrRefused, w.Root)
			}
		}
		slices.Sort(l.Roots)
		return nil
	}))
}
