package restic

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// A program may give a repository another version where it is, under the same id, as restic's migrate does.
func TestARepositoryOfAnotherVersionIsRefusedWhetherItWasKnownOrNot(t *testing.T) {
	for found, says := range map[int]string{1: "restic migrate upgrade_repo_v2", 3: "a later version of rewind"} {
		r, dir := made(t)
		p, err := depot.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		cache := kept{}
		if _, err := Open(t.Context(), p, password, cache); err != nil {
			t.Fatal(err)
		}
		c := r.config
		c.Version = found
		plain, err := json.Marshal(c)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "config"), r.key.seal(nil, plain), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, unknown := Open(t.Context(), p, password, nil)
		again, err := Open(t.Context(), p, password, cache)
		if err == nil {
			err = again.Check(t.Context())
		}
		for _, err := range []error{unknown, err} {
			if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), says) {
				t.Errorf("of version %d it says %v", found, err)
			}
		}
	}
}
