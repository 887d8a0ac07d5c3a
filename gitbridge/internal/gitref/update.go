package gitref

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// An Update is one ref's way from a value to another.
type Update struct {
	Name    string
	Old     oid.ID    // zero: the ref must not exist
	New     oid.ID    // of an object that exists; zero is refused
	Message string    // for the reflog, if there is one
	Time    time.Time // for the reflog
	Repair  bool      // a broken ref counts as one that does not exist
	Durable bool      // the new value survives a loss of power, its place included

	// Ready waits until the ref may move, and returns an error if it may not. The file
	// with the new value is made and synced before, where nobody but ours sees it; git's
	// lock appears afterwards. It may be called more than once. Nil: the ref may move.
	Ready func(context.Context) error
}

// CompareAndSwap moves a ref if it still has the old value. The errors are
// ErrMoved, ErrLocked (it names the lock file), ErrConflict, ErrInvalidName,
// ErrCorrupt, the context's, and those of the system; after every one of them
// the ref is what it was, but for a sync that Durable asked for and that failed. A symbolic ref is not followed: it is ErrConflict.
func (s *Store) CompareAndSwap(ctx context.Context, u Update) (err error) {
	if !ValidName(u.Name) {
		return fmt.Errorf("update %q: %w", u.Name, ErrInvalidName)
	}
	if u.New.Len() != s.alg.Size() {
		return fmt.Errorf("update %s: %w", u.Name, oid.ErrInvalid)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("update %s: %w", u.Name, err)
		}
	}()
	path := s.path(u.Name)
	if err := s.sound(u.Name); err != nil {
		return err
	}
	l, err := s.lockOwn(ctx, path, u.New.String()+"\n", u.ready(ctx))
	if err != nil {
		return err
	}
	defer l.release()
	err = s.expect(u.Name, u.Old)
	if errors.Is(err, ErrCorrupt) && u.Repair && u.Old.IsZero() {
		err = nil
	}
	if err != nil {
		return err
	}
	if u.Old.IsZero() {
		if err := s.free(u.Name); err != nil {
			return err
		}
	}
	if err := s.log(u); err != nil {
		return fmt.Errorf("reflog: %w", err)
	}
	if err := s.commit(l, path); err != nil || !u.Durable {
		return err
	}
	return s.syncPlace(path)
}

// ready is Ready for a context.
func (u *Update) ready(ctx context.Context) func() error {
	return func() error {
		if u.Ready == nil {
			return nil
		}
		return u.Ready(ctx)
	}
}

// Settle makes durable what a ref's file says now. A packed ref is git's to sync.
func (s *Store) Settle(name string) error {
	err := regular.Sync(s.path(name))
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.syncPlace(s.path(name))
}

// syncPlace makes durable that a file has its name, and that its directories
// below the git directory have theirs.
func (s *Store) syncPlace(path string) error {
	for at := path; at != s.commonDir && at != s.gitDir && at != filepath.Dir(at); {
		at = filepath.Dir(at)
		if err := durable.SyncDir(at); err != nil {
			return err
		}
	}
	return nil
}

// expect checks, under the ref's lock, that it has a value.
func (s *Store) expect(name string, old oid.ID) error {
	id, target, err := s.value(name)
	switch {
	case err != nil:
		return err
	case target != "":
		return fmt.Errorf("%w: it is symbolic, for %s", ErrConflict, target)
	case id != old:
		return fmt.Errorf("%w: it is %s, not %s", ErrMoved, orNone(id), orNone(old))
	}
	return nil
}

func orNone(id oid.ID) string {
	if id.IsZero() {
		return "nothing"
	}
	return id.String()
}

// free checks that no other ref stands where a new one needs a directory, nor
// lies in a directory where the new one needs a file.
func (s *Store) free(name string) error {
	for at := range strings.Count(name, "/") - 1 {
		above := strings.Join(strings.Split(name, "/")[:at+2], "/")
		id, target, err := s.value(above)
		if err == nil && (target != "" || !id.IsZero()) {
			return fmt.Errorf("%w: %s exists", ErrConflict, above)
		}
	}
	taken, err := s.below(name + "/")
	if taken {
		err = fmt.Errorf("%w: there are refs below %s/", ErrConflict, name)
	}
	return err
}

// A lock is a lock file that we made and hold open.
type lock struct {
	f    *os.File
	path string        // "" when it is no longer ours
	held *durable.Held // what says that we live; nil where nothing does
}

func (l *lock) release() {
	if l.path != "" {
		_ = l.f.Close()
		_ = durable.Patiently(func() error { return os.Remove(l.path) }) // what looks for viruses may have it open
	}
	if l.held != nil {
		_ = l.held.Unlock()
	}
}

// Back-off between two tries for a lock: somebody who holds one needs a
// fraction of a millisecond, unless the disk is slow.
const (
	pauseMin = time.Millisecond
	pauseMax = 100 * time.Millisecond
)

// create makes a file that must not exist.
func create(name string) (*os.File, error) { return durable.CreateNew(name, 0o666) }

func rename(from, to string) error {
	return durable.Patiently(func() error { return os.Rename(from, to) })
}

// A lockFileError is an [ErrLockFile].
type lockFileError struct {
	name  string
	after time.Duration
}

func (e *lockFileError) Error() string {
	return fmt.Sprintf("%v: %s is still there after %v; if no git process runs, remove it", ErrLocked, e.name, e.after)
}

func (e *lockFileError) Is(target error) bool { return target == ErrLocked || target == ErrLockFile }

// lockBy makes "<path>.lock" by a function that fails if it exists. It waits for
// another one's to go away.
func (s *Store) lockBy(ctx context.Context, path string, create func(name string) (*os.File, error)) (*lock, error) {
	name, missing := path+".lock", 0
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		f, err := create(name)
		switch {
		case err == nil:
			return &lock{f: f, path: name}, nil
		case errors.Is(err, fs.ErrExist):
		case absent(err):
			if err := s.mkdirs(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if missing++; missing == 1 {
				continue
			}
			if missing == 100 { // more often than git can have removed it meanwhile
				return nil, err
			}
		default:
			return nil, err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); cause != ErrLocked {
				return nil, fmt.Errorf("wait for %s: %w: %w", name, ErrLocked, cause)
			}
			return nil, &lockFileError{name, s.opt.Patience}
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// mkdirs makes a directory below a git directory and those above it.
func (s *Store) mkdirs(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if absent(err) && dir != s.gitDir && dir != s.commonDir && dir != filepath.Dir(dir) {
		if err := s.mkdirs(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o777)
	}
	switch {
	case err == nil && s.opt.Share != nil:
		return s.opt.Share(dir)
	case errors.Is(err, fs.ErrExist):
		st, err := os.Stat(dir)
		if err == nil && !st.IsDir() {
			err = fmt.Errorf("%w: %s is no directory", ErrConflict, dir)
		}
		return err
	}
	return err
}

// commit renames a lock file over what it locks. The new value is synced before it is
// seen, whatever git's own settings say: earlier snapshots rest on it.
func (s *Store) commit(l *lock, path string) error {
	if l.held == nil { // else it was synced before it had its name
		if err := l.f.Sync(); err != nil {
			return err
		}
	}
	if err := l.f.Close(); err != nil {
		return err
	}
	if s.opt.Share != nil {
		if err := s.opt.Share(l.path); err != nil {
			return err
		}
	}
	err := rename(l.path, path)
	if st, statErr := os.Lstat(path); err != nil && statErr == nil && st.IsDir() {
		removeEmpty(path) // git leaves the directories of refs it packed
		if err = rename(l.path, path); err != nil {
			return fmt.Errorf("%w: there are refs below it", ErrConflict)
		}
	}
	if err == nil {
		l.path = ""
	}
	return err
}

// removeEmpty removes a directory if nothing but directories is in it.
func removeEmpty(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if e.IsDir() {
			removeEmpty(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}

func (s *Store) logPath(name string) string {
	return filepath.Join(s.dir(name), "logs", filepath.FromSlash(name))
}

// log appends an update to the ref's log, if git would: to one that is there,
// or always where it is so configured.
func (s *Store) log(u Update) (err error) {
	path := s.logPath(u.Name)
	flags := os.O_WRONLY | os.O_APPEND
	if s.opt.LogAlways {
		flags |= os.O_CREATE
		if err := s.mkdirs(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if st, err := os.Lstat(path); err == nil && (st.Mode()&fs.ModeType)&^(fs.ModeDir|fs.ModeSymlink) != 0 {
		return nil // a pipe or a device keeps no log
	} else if err == nil && st.IsDir() && !s.opt.LogAlways {
		return nil // nor does what git left of another ref's
	}
	f, err := durable.OpenFile(path, flags, 0o666)
	if !s.opt.LogAlways && absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if s.opt.Share != nil {
		if err := s.opt.Share(path); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%s %s %s %d %s", s.alg.Digits(u.Old), s.alg.Digits(u.New), s.opt.Committer, u.Time.Unix(), u.Time.Format("-0700"))
	if m := strings.Join(strings.Fields(u.Message), " "); m != "" {
		line += "\t" + m
	}
	_, err = f.WriteString(line + "\n")
	return err
}
