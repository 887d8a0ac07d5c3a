package restic

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

var errKilled = errors.New("killed")

// A killed place fails from one of its requests on, before or after it is carried out.
type killed struct {
	depot.Place
	left int
	late bool
}

func (k *killed) Put(ctx context.Context, name string, data []byte) error {
	if k.left--; k.left < 0 || k.left == 0 && !k.late {
		return errKilled
	}
	err := k.Place.Put(ctx, name, data)
	if k.left == 0 {
		return errKilled
	}
	return err
}

func (k *killed) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if k.left--; k.left <= 0 {
		return nil, errKilled
	}
	return k.Place.Get(ctx, name, offset, length)
}

func (k *killed) List(ctx context.Context, folder string) ([]depot.File, error) {
	if k.left--; k.left <= 0 {
		return nil, errKilled
	}
	return k.Place.List(ctx, folder)
}

// wantOneKey checks that a repository can be read by whatever tries its keys in whatever order.
func wantOneKey(t *testing.T, dir string) {
	t.Helper()
	keys, err := os.ReadDir(filepath.Join(dir, "keys"))
	if err != nil || len(keys) != 1 {
		t.Errorf("not one key: %v, %v", keys, err)
	}
	reopened(t, dir)
}

func TestARepositoryWhoseMakingWasKilledIsMadeByTheNext(t *testing.T) {
	for _, late := range []bool{false, true} {
		for at := 1; ; at++ {
			dir := filepath.Join(t.TempDir(), "repo")
			p, err := depot.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			k := &killed{Place: p, left: at, late: late}
			_, err = Init(t.Context(), k, password, true)
			if k.left > 0 {
				break
			}
			if err == nil {
				t.Fatal("it was not killed")
			}
			if _, err := Init(t.Context(), p, password, true); err != nil && !errors.Is(err, depot.ErrExists) {
				t.Errorf("after request %d: %v", at, err)
			}
			wantOneKey(t, dir)
		}
	}
}

func TestOfManyWhoMakeARepositoryAtOnceNobodyLeavesAKey(t *testing.T) {
	var dir string
	for range 30 {
		dir = filepath.Join(t.TempDir(), "repo")
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				p, err := depot.Open(dir)
				if err == nil {
					_, err = Init(t.Context(), p, password, true)
				}
				if err != nil && !errors.Is(err, depot.ErrExists) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantOneKey(t, dir)
	}
	t.Run("restic", func(t *testing.T) { oracle(t, dir, "check", "--read-data") })
}

// A stale place lists a file that is there no more, and so many times nothing else.
type stale struct {
	depot.Place
	file  string
	alone int
}

func (s *stale) List(ctx context.Context, folder string) ([]depot.File, error) {
	list, err := s.Place.List(ctx, folder)
	if s.alone--; s.alone >= 0 {
		list = nil
	}
	return append(list, depot.File{Name: s.file}), err
}

func TestAKeyThatIsTakenBackWhileTheKeysAreReadHindersNoMaking(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	p, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), &stale{Place: p, file: hash([]byte("a key"))}, password, true); err != nil {
		t.Error(err)
	}
	wantOneKey(t, dir)
}

func TestAKeyThatIsChangedWhileTheKeysAreReadIsFound(t *testing.T) {
	_, dir := made(t)
	p, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), &stale{p, hash([]byte("the key before")), 1}, password, nil); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), &stale{p, hash([]byte("the key before")), 2}, password, nil); !errors.Is(err, ErrTampered) {
		t.Errorf("a repository without keys: %v", err)
	}
}

func TestAKeyThatLeadsToNoConfigIsPassedOver(t *testing.T) {
	for range 10 {
		_, dir := made(t)
		_, file, err := newKey(password, true)
		if err != nil {
			t.Fatal(err)
		}
		p, err := depot.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Put(t.Context(), "keys/"+hash(file), file); err != nil {
			t.Fatal(err)
		}
		reopened(t, dir)
	}
}

func TestNoRepositoryIsMadeOverTheKeysOfAnother(t *testing.T) {
	_, dir := made(t)
	if err := os.Remove(filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	p, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), p, "another", false); !errors.Is(err, ErrPassword) {
		t.Errorf("it says %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config")); err == nil {
		t.Error("a config was made")
	}
}

func hash(file []byte) string { return ID(sha256.Sum256(file)).String() }
