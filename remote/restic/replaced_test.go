package restic

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// A kept is a cache in memory.
type kept map[string][]byte

func (k kept) Load(name string) ([]byte, bool) { p, ok := k[name]; return p, ok }
func (k kept) Store(name string, data []byte)  { k[name] = data }

func TestAnotherRepositoryInItsPlaceIsNotTaken(t *testing.T) {
	_, dir := made(t)
	_, other := made(t)
	p, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cache := kept{}
	r, err := Open(t.Context(), p, password, cache)
	if err == nil {
		err = r.Check(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config", "keys"} {
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.Rename(filepath.Join(other, name), filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	r, err = Open(t.Context(), p, password, cache)
	if err == nil {
		err = r.Check(t.Context())
	}
	if !errors.Is(err, ErrTampered) {
		t.Errorf("another repository is taken for it: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("of none it says %v", err)
	}
}
