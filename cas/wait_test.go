package cas

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// TestOpenWaitsUntilItsContextEnds: for the lock, whether there is a store or it is
// to be made, and for a program that has the file locked without it.
func TestOpenWaitsUntilItsContextEnds(t *testing.T) {
	dir := t.TempDir()
	there, missing := filepath.Join(dir, "there.db"), filepath.Join(dir, "missing.db")
	opt := &Options{Create: true}
	s, err := Open(t.Context(), there, opt)
	must(t, err)
	must(t, s.Close())
	locks := map[string]func() (unlock func() error, err error){
		there: func() (func() error, error) {
			held, err := durable.Lock(t.Context(), there+".lock", durable.Exclusive)
			return held.Unlock, err
		},
		missing: func() (func() error, error) {
			held, err := durable.Lock(t.Context(), missing+".lock", durable.Exclusive)
			return held.Unlock, err
		},
		there + " itself": func() (func() error, error) {
			f, err := os.OpenFile(there, os.O_RDWR, 0)
			if err == nil {
				err = durable.TryLockFile(f, durable.Exclusive)
			}
			return f.Close, err
		},
	}
	for name, lock := range locks {
		t.Run(filepath.Base(name), func(t *testing.T) {
			path := strings.TrimSuffix(name, " itself")
			unlock, err := lock()
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := Open(ctx, path, opt)
				ended <- err
			}()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Open ended with %v", err)
			}
			must(t, unlock())
			s, err := Open(t.Context(), path, opt)
			must(t, err)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAStoreThatIsItsOwnLockIsRefusedByName: who holds such a lock waits for itself,
// and would write into the store what belongs into the lock.
func TestAStoreThatIsItsOwnLockIsRefusedByName(t *testing.T) {
	s := newStore(t)
	ids := put(t, s, []byte("an object"))
	must(t, s.Close())
	lock := s.Path() + ".lock"
	was, err := os.ReadFile(s.Path())
	must(t, err)
	if err := errors.Join(os.Remove(lock), os.Link(s.Path(), lock)); err != nil {
		t.Skipf("SKIPPED: the file system has no hard links: %v", err)
	}
	_, err = Open(t.Context(), s.Path(), &Options{Create: true})
	if !errors.Is(err, durable.ErrForeign) || !strings.Contains(err.Error(), lock) {
		t.Errorf("Open says %v", err)
	}
	if err := s.Update(t.Context(), func(*Update) error { return nil }); !errors.Is(err, durable.ErrForeign) {
		t.Errorf("Update says %v", err)
	}
	if now, err := os.ReadFile(s.Path()); err != nil || string(now) != string(was) {
		t.Errorf("the store was written to: %v", err)
	}
	must(t, os.Remove(lock))
	if again, err := Open(t.Context(), s.Path(), nil); err != nil {
		t.Error(err)
	} else {
		read(t, again, ids[0])
	}
}
