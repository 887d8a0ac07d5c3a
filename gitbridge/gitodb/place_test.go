package gitodb

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
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

func TestADirectoryOfObjectsIsListedAgainIfItChanged(t *testing.T) {
	gittest.Links(t)
	dir := t.TempDir()
	at, err := dirfd.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	if !at.Local() {
		t.Skip("SKIPPED: the times of this file system may be another machine's: it is always listed")
	}
	pack, info := filepath.Join(dir, "pack"), filepath.Join(dir, "info")
	if err := errors.Join(os.Mkdir(pack, 0o755), os.Mkdir(info, 0o755)); err != nil {
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
	if d.listed.at != (dirfd.Stat{}) {
		t.Error("a listing is relied upon that a change a moment later would not show in")
	}
	time.Sleep(2 * settleFine)
	want()
	d.listed.names = []string{"remembered"}
	want(filepath.Join(dir, "remembered"))
	next, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	next.TakeOver(d)
	d = next
	want(filepath.Join(dir, "remembered"))
	// Who may write the directory may give it back its time of modification.
	long := time.Unix(0, d.listed.at.Mtime)
	if err := errors.Join(os.Rename(pack, pack+"2"), os.Symlink("pack2", pack), os.Chtimes(dir, long, long)); err != nil {
		t.Fatal(err)
	}
	want(pack)
	time.Sleep(2 * settleFine)
	for range 2 {
		want(pack)
	}
	if err := errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(os.Remove(dir), os.Rename(dir+"2", dir)) }()
	want(dir, pack)
}
