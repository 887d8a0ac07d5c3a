package gitodb

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestADirectoryOfObjectsIsListedAgainIfItChanged(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "pack"), 0o755), os.Mkdir(filepath.Join(dir, "info"), 0o755)); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	links := func() []string {
		t.Helper()
		paths, err := d.Links()
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	if got := links(); len(got) != 0 {
		t.Errorf("no links: %q", got)
	}
	if d.links.at != (stamp{}) {
		t.Error("a listing is relied upon that a change a moment later would not show in")
	}
	// Who may write the directory may give it back its time of modification.
	long := time.Now().Add(-time.Hour)
	pack := filepath.Join(dir, "pack")
	if err := errors.Join(os.Rename(pack, pack+"2"), os.Symlink("pack2", pack), os.Chtimes(dir, long, long)); err != nil {
		t.Fatal(err)
	}
	if got := links(); !slices.Equal(got, []string{pack}) {
		t.Errorf("the directory of packs is a link: %q", got)
	}
	time.Sleep(2 * settleFine)
	links()
	if known := d.links.at != (stamp{}); known != (runtime.GOOS == "linux") {
		t.Errorf("a directory that did not change for long is not listed again: %v", known)
	}
	d.links.paths = []string{"remembered"}
	if got := links(); runtime.GOOS == "linux" && !slices.Equal(got, d.links.paths) {
		t.Errorf("it was listed again: %q", got)
	}
	next, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	next.TakeOver(d)
	d = next
	if got := links(); runtime.GOOS == "linux" && !slices.Equal(got, d.links.paths) {
		t.Errorf("it was listed again by the next one: %q", got)
	}
	if err := errors.Join(os.Remove(pack), os.Rename(pack+"2", pack), os.Chtimes(dir, long, long)); err != nil {
		t.Fatal(err)
	}
	if got := links(); len(got) != 0 {
		t.Errorf("the link is gone: %q", got)
	}
	if err := errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := links(); !slices.Equal(got, []string{dir}) {
			t.Errorf("the directory itself is a link: %q", got)
		}
	}
	_ = errors.Join(os.Remove(dir), os.Rename(dir+"2", dir))
}
