//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func hold(t *testing.T, l *LockFile, mode Mode) *Held {
	t.Helper()
	h, err := l.TryLock(mode)
	must(t, err)
	return h
}

func release(t *testing.T, h *Held) {
	t.Helper()
	must(t, h.Unlock())
}

func lockIn(t *testing.T) *LockFile {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rewind")
	must(t, os.Mkdir(dir, 0o700))
	l := &LockFile{Path: filepath.Join(dir, "lock")}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestALockThatIsTakenAgainOpensNothing(t *testing.T) {
	l := lockIn(t)
	first := hold(t, l, Shared)
	file := first.file
	if other := hold(t, l, Shared); other.file == file {
		t.Error("two holders at once have one file")
	} else {
		release(t, other)
	}
	if _, err := l.TryLock(Exclusive); !errors.Is(err, ErrLocked) {
		t.Errorf("a shared lock hinders no writer: %v", err)
	}
	release(t, first)
	for _, mode := range []Mode{Exclusive, Shared, Exclusive} {
		h := hold(t, l, mode)
		if h.file != file {
			t.Error("the file was opened again")
		}
		if other, err := TryLock(l.Path, Shared); (err == nil) != (mode == Shared) {
			t.Errorf("beside a lock of mode %v: %v", mode, err)
		} else if err == nil {
			release(t, other)
		}
		release(t, h)
	}
	if h, err := TryLock(l.Path, Exclusive); err != nil {
		t.Errorf("the lock is still on the file that was kept: %v", err)
	} else {
		release(t, h)
	}
}

func TestALockIsNotTakenOnAFileThatIsNotThereAnyMore(t *testing.T) {
	change := map[string]func(l *LockFile) error{
		"removed": func(l *LockFile) error { return os.Remove(l.Path) },
		"replaced": func(l *LockFile) error {
			return errors.Join(os.WriteFile(l.Path+"2", nil, 0o600), os.Rename(l.Path+"2", l.Path))
		},
		"opened to others": func(l *LockFile) error { return os.Chmod(l.Path, 0o666) },
		"its directory renewed": func(l *LockFile) error {
			d := filepath.Dir(l.Path)
			return errors.Join(os.Rename(d, d+"2"), os.Mkdir(d, 0o700))
		},
		"its directory opened": func(l *LockFile) error { return os.Chmod(filepath.Dir(l.Path), 0o777) },
	}
	for what, f := range change {
		t.Run(what, func(t *testing.T) {
			l := lockIn(t)
			first := hold(t, l, Exclusive)
			file := first.file
			release(t, first)
			must(t, f(l))
			h := hold(t, l, Exclusive)
			defer release(t, h)
			if h.file == file {
				t.Error("the file that was kept is used")
			}
			if _, err := TryLock(l.Path, Shared); !errors.Is(err, ErrLocked) {
				t.Errorf("another process is not kept out: %v", err)
			}
			for _, path := range []string{l.Path, filepath.Dir(l.Path)} {
				if st, err := os.Stat(path); err != nil || st.Mode()&others != 0 {
					t.Errorf("%s is open to others: %v, %v", path, st.Mode(), err)
				}
			}
		})
	}
}

func TestALockIsRefusedWhereALinkCameInItsPlace(t *testing.T) {
	l := lockIn(t)
	release(t, hold(t, l, Exclusive))
	dir := filepath.Dir(l.Path)
	must(t, errors.Join(os.Rename(dir, dir+"2"), os.Symlink("rewind2", dir)))
	if h, err := l.TryLock(Shared); !errors.Is(err, ErrForeign) {
		t.Errorf("the directory is a link: %v, %v", h, err)
	}
	must(t, errors.Join(os.Remove(dir), os.Rename(dir+"2", dir), os.Rename(l.Path, l.Path+"2"), os.Symlink("lock2", l.Path)))
	if h, err := l.TryLock(Shared); !errors.Is(err, ErrForeign) {
		t.Errorf("the file is a link: %v, %v", h, err)
	}
}

func TestALockIsRefusedOnAFileThatWasGivenAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a file to another user")
	}
	t.Setenv("SUDO_UID", "")
	for _, what := range []func(string) string{filepath.Clean, filepath.Dir} {
		l := lockIn(t)
		release(t, hold(t, l, Exclusive))
		must(t, os.Chown(what(l.Path), 65534, 65534))
		if h, err := l.TryLock(Shared); !errors.Is(err, ErrForeign) {
			t.Errorf("%s is another user's: %v, %v", what(l.Path), h, err)
		}
	}
}
