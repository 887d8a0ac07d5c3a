package fork

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// A Removed says what [Remove] did.
type Removed struct {
	Dir      string
	State    string           // what had become of it
	Recorded *engine.Snapshot // what was there, recorded before; nil: it was as the snapshot that was written there
}

// Remove removes a fork. What was changed there is recorded first. If something is
// there that could not be recorded, or a commit that no branch has, it is
// [ErrUnsaved], and nothing was removed, unless force is set. If another directory
// is there now, that is left alone: with force the fork is forgotten.
func Remove(ctx context.Context, e *engine.Engine, dir string, force bool, opt *engine.Options) (*Removed, error) {
	f, r, err := find(ctx, e, dir)
	if err != nil {
		return nil, err
	}
	if st, err := e.Status(ctx); err != nil || f.Git && !st.Git {
		return nil, errors.Join(err, fmt.Errorf("%w: %s is a linked worktree, and git is left out", engine.ErrRefused, f.Dir))
	}
	out := &Removed{Dir: f.Dir, State: f.state()}
	switch out.State {
	case Another:
		if !force {
			return nil, fmt.Errorf("%w: %s is left alone (--force forgets the fork)", ErrAnother, f.Dir)
		}
	case Unfinished:
		if err := f.removeUnfinished(ctx, e, force); err != nil {
			return nil, err
		}
	case Stands:
		if out.Recorded, err = f.remove(ctx, e, force, opt); err != nil {
			return nil, err
		}
	}
	if _, err := os.Lstat(f.Dir); f.Git && !f.Whole && errors.Is(err, os.ErrNotExist) {
		_ = e.Unfork(ctx, f.Dir, nil, nil) // git was perhaps killed too, and then keeps the name locked; else it knows of none
	}
	return out, r.drop(f)
}

// remove removes a whole fork.
func (f *Fork) remove(ctx context.Context, e *engine.Engine, force bool, opt *engine.Options) (_ *engine.Snapshot, err error) {
	there, err := f.open(ctx, e, opt)
	if err != nil {
		return nil, err
	}
	defer there.Close()
	base, now, err := f.record(ctx, there)
	if err != nil && !force {
		return nil, err
	}
	if err == nil && !force {
		if err := f.saved(ctx, there, now, e.Root()); err != nil {
			return nil, err
		}
	}
	if err := f.same(force); err != nil {
		return nil, err
	}
	lock := f.unlock()
	defer func() {
		if err != nil {
			lock()
		}
	}()
	if f.Git {
		began := base
		if force {
			began = nil
		}
		if err := e.Unfork(ctx, f.Dir, began, now); errors.Is(err, engine.ErrRefused) {
			return nil, fmt.Errorf("%w: %w", ErrUnsaved, err)
		} else if err != nil {
			return nil, err
		}
	} else if err := os.RemoveAll(f.Dir); err != nil {
		return nil, err
	}
	if now == base {
		now = nil
	}
	return now, nil
}

// same makes sure once more that the directory is the one that was made, and that all of
// it lies there. Where the system tells no more of it than an inode, somebody has to
// insist.
func (f *Fork) same(force bool) error {
	birth, err := dirfd.Birth(f.Dir)
	if err != nil {
		return err
	}
	if birth != f.Birth {
		return fmt.Errorf("%w: %s", ErrAnother, f.Dir)
	}
	if strings.HasPrefix(birth, "inode ") && !force {
		return fmt.Errorf("%w: the file system does not tell when %s was made (--force removes it all the same)", ErrAnother, f.Dir)
	}
	return mounted(f.Dir)
}

// saved is an error if something lies in the fork that neither a snapshot of it has nor,
// byte for byte, the worktree: ignored files that were made or changed there, those that
// could not be read, the repositories below it.
func (f *Fork) saved(ctx context.Context, there *engine.Engine, now *engine.Snapshot, root string) error {
	held, err := knownTo(ctx, there, now)
	if err != nil {
		return err
	}
	var not []string
	for _, n := range now.Skipped {
		if !n.Kept {
			not = append(not, string(n.Path))
		}
	}
	err = f.walk(func(path string, d fs.DirEntry) error {
		if d.IsDir() || held.files[path] {
			return nil
		}
		same, err := has(ctx, root, f.Dir, path, false)
		if !same {
			not = append(not, path)
		}
		return errors.Join(ctx.Err(), unread(err))
	})
	if err == nil && len(not) > 0 {
		err = fmt.Errorf("%w: %s (%s); --force removes it all the same", ErrUnsaved, f.Dir, short(not))
	}
	return err
}

// short names at most five of many paths.
func short(paths []string) string {
	if more := len(paths) - 5; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:5], ", "), more)
	}
	return strings.Join(paths, ", ")
}

// unread drops the error of a file that cannot be read: it is named as not saved.
func unread(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// walk goes through what lies in the fork, but for its own .git.
func (f *Fork) walk(do func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.Dir, path)
		if err != nil || rel == "." || f.Git && rel == ".git" {
			return err
		}
		return do(filepath.ToSlash(rel), d)
	})
}

// removeUnfinished removes what was made of a fork before it was interrupted: if
// there is nothing but beginnings of what the snapshot or the worktree has.
func (f *Fork) removeUnfinished(ctx context.Context, e *engine.Engine, force bool) error {
	if f.Birth == "" { // nobody knows who made it; there is nothing in it
		if err := os.Remove(f.Dir + string(filepath.Separator)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if !force {
		base, err := e.Find(ctx, f.Snapshot.String())
		if err != nil {
			return err
		}
		err = f.walk(func(path string, d fs.DirEntry) error {
			if d.IsDir() {
				return nil
			}
			var want bytes.Buffer
			if err := e.Cat(ctx, base, path, &want); err != nil {
				if same, _ := has(ctx, e.Root(), f.Dir, path, true); same {
					return nil // taken along
				}
				return fmt.Errorf("%w: %s in %s; --force removes it all the same", ErrUnsaved, path, f.Dir)
			}
			got, err := content(filepath.Join(f.Dir, path), d)
			if err == nil && !bytes.HasPrefix(want.Bytes(), got) {
				err = fmt.Errorf("%w: %s was changed in %s; --force removes it all the same", ErrUnsaved, path, f.Dir)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := f.same(force); err != nil {
		return err
	}
	f.unlock()
	if f.Git {
		if err := e.Unfork(ctx, f.Dir, nil, nil); err == nil {
			return nil // else git had not made it yet
		}
		if err := f.same(force); err != nil {
			return err
		}
	}
	return os.RemoveAll(f.Dir)
}

// unlock lets directories be emptied that their owner may not write in, as those of
// package managers. What cannot be unlocked is told by what removes it. Lock gives those
// that are still there their permissions back: what was refused changes nothing.
func (f *Fork) unlock() (lock func()) {
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return func() {}
	}
	defer root.Close()
	perms := map[string]fs.FileMode{}
	_ = f.walk(func(path string, d fs.DirEntry) error {
		if info, err := d.Info(); err == nil && d.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
			perms[path] = info.Mode()
			_ = root.Chmod(path, info.Mode().Perm()|0o700)
		}
		return nil
	})
	return func() {
		root, err := os.OpenRoot(f.Dir)
		if err != nil {
			return
		}
		defer root.Close()
		for _, path := range slices.Backward(slices.Sorted(maps.Keys(perms))) { // what lies below first
			_ = root.Chmod(path, perms[path])
		}
	}
}

// content is what a file or link holds.
func content(path string, d fs.DirEntry) ([]byte, error) {
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return []byte(target), err
	}
	if !d.Type().IsRegular() {
		return nil, fmt.Errorf("%w: %s", ErrUnsaved, path)
	}
	return os.ReadFile(path)
}
