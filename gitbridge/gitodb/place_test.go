package gitodb

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestALinkAmongTheDirectoriesOfObjectsIsNamed(t *testing.T) {
	gittest.Links(t)
	dir := filepath.Join(t.TempDir(), "objects")
	pack := filepath.Join(dir, "pack")
	if err := os.MkdirAll(pack, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := func(want ...string) {
		t.Helper()
		if got, err := d.Symlinks(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	want()
	if err := errors.Join(os.Rename(pack, pack+"2"), os.Symlink("pack2", pack)); err != nil {
		t.Fatal(err)
	}
	want(pack)
	if err := errors.Join(os.Rename(dir, dir+"2"), os.Mkdir(dir+"3", 0o755), os.Symlink(dir+"3", dir)); err != nil {
		t.Fatal(err)
	}
	want(dir)
}
