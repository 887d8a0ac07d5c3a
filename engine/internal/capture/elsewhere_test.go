package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// below opens directories below one, and counts.
func below(t *testing.T, dir string) (open func(string) (*dirfd.Dir, error), opened *int) {
	t.Helper()
	root, err := dirfd.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	n := 0
	return func(dir string) (*dirfd.Dir, error) {
		n++
		return root.OpenDir(dir)
	}, &n
}

func TestADirectoryIsOpenedOnceForAllThatStaysElsewhereOfIt(t *testing.T) {
	dir := t.TempDir()
	var notes []records.Note
	for i := range 1000 {
		for _, at := range []string{"there", "none", "none/below", "there/none"} {
			notes = append(notes, records.Note{Path: records.Path(fmt.Sprintf("%s/%d", at, i))})
		}
	}
	open, opened := below(t, dir)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "there"), 0o755), os.WriteFile(filepath.Join(dir, "there", "7"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	left := elsewhere(notes, open)
	if len(left) != 3999 || slices.ContainsFunc(left, func(n records.Note) bool { return n.Path == "there/7" }) {
		t.Errorf("%d files stay elsewhere", len(left))
	}
	if *opened != 4 {
		t.Errorf("%d directories were opened for four", *opened)
	}
}

func TestAFileStaysElsewhereUntilSomethingIsInItsPlace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.MkdirAll(at("dir/deep"), 0o755), os.MkdirAll(at("replaced"), 0o755), os.WriteFile(at("file"), nil, 0o644), os.WriteFile(at("dir/f"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	stay := []string{"f", "dir/g", "dir/deep/f", "dir/deeper/f", "none/f", "none/deep/f", "replaced/../f"} // the last leads nowhere
	wantElsewhere(t, dir, stay, "file", "file/f", "file/deep/f", "dir/f", "dir/f/g", "replaced")
}

func TestAFileStaysElsewhereUntilALinkIsInItsPlace(t *testing.T) {
	gittest.Links(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.MkdirAll(at("dir/deep"), 0o755), os.Symlink("nowhere", at("dir/link")), os.Symlink("dir", at("way"))); err != nil {
		t.Fatal(err)
	}
	wantElsewhere(t, dir, []string{"dir/f"}, "dir/link", "dir/link/f", "way/g", "way/deep/f")
}

// wantElsewhere checks which of some files stay elsewhere.
func wantElsewhere(t *testing.T, dir string, stay []string, others ...string) {
	t.Helper()
	var notes []records.Note
	for _, path := range append(slices.Clone(stay), others...) {
		notes = append(notes, records.Note{Path: records.Path(path)})
	}
	open, _ := below(t, dir)
	var got []string
	for _, n := range elsewhere(notes, open) {
		got = append(got, string(n.Path))
	}
	if !slices.Equal(got, stay) {
		t.Errorf("%q stay elsewhere, want %q", got, stay)
	}
}
