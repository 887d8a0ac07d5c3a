package dirfd

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, d *Dir) []string {
	t.Helper()
	list, err := d.List()
	must(t, err)
	var out []string
	for _, n := range list {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

func TestNoComponentOfAPathIsALink(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o755))
	must(t, os.Symlink("a", filepath.Join(root, "in")))
	must(t, os.Symlink(t.TempDir(), filepath.Join(root, "a", "out")))
	d := open(t, root)
	for _, rel := range []string{"in", "in/b", "a/out", "..", "a/../a", ".", "", "a//b", "/", "a/b\x00", "missing"} {
		if got, err := d.OpenDir(rel); err == nil {
			got.Close()
			t.Errorf("OpenDir(%q) opened", rel)
		}
	}
	got, err := d.OpenDir("a/b")
	must(t, err)
	got.Close()
	if _, err := d.OpenDir("missing/b"); !errors.Is(err, fs.ErrNotExist) || !Gone(err) {
		t.Errorf("missing: %v", err)
	}
}

func TestTheRootItselfMayBeReachedThroughALink(t *testing.T) {
	gittest.Links(t)
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "real"), 0o755))
	must(t, os.Symlink("real", filepath.Join(root, "link")))
	if got := names(t, open(t, filepath.Join(root, "link"))); len(got) != 0 {
		t.Errorf("names %q", got)
	}
}

func TestADirectoryIsTheSameByAnotherWay(t *testing.T) {
	top := t.TempDir()
	there, way, other := filepath.Join(top, "there"), filepath.Join(top, "way"), filepath.Join(top, "other")
	must(t, errors.Join(os.MkdirAll(filepath.Join(there, "sub"), 0o755), os.Mkdir(other, 0o755)))
	gittest.Lead(t, there, way)
	for _, below := range []string{"", "sub"} {
		a, b := filepath.Join(way, below), filepath.Join(there, below)
		if !SameDir(a, b) || !SameDir(b, a) || SameDir(a, other) || SameDir(a, top) {
			t.Errorf("%q is not the same, or another one is", below)
		}
		realA, errA := Real(a)
		realB, errB := Real(b)
		if err := errors.Join(errA, errB); err != nil || realA != realB || filepath.Base(realA) != filepath.Base(b) || !filepath.IsAbs(realA) || strings.HasPrefix(realA, `\\?\`) {
			t.Errorf("%q: %s and %s, %v", below, realA, realB, err)
		}
	}
	if _, err := Real(filepath.Join(way, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of what is not there: %v", err)
	}
	if SameDir(filepath.Join(way, "none"), filepath.Join(there, "none")) {
		t.Error("what is not there is the same")
	}
}

func TestAFileIsOpenedOnlyIfItIsNoLink(t *testing.T) {
	gittest.Links(t)
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("hello"), 0o640))
	must(t, os.Symlink("f", filepath.Join(root, "l")))
	d := open(t, root)
	f, err := d.OpenFile("f")
	must(t, err)
	defer f.Close()
	for range 2 {
		p, err := io.ReadAll(f)
		if err != nil || string(p) != "hello" {
			t.Errorf("read %q, %v", p, err)
		}
		must(t, f.Rewind())
	}
	st, err := f.Stat()
	must(t, err)
	if by, err := d.Lstat("f"); err != nil || !st.Same(&by) || st.Size != 5 || runtime.GOOS == "linux" && st.Mode != tree.File|0o640 {
		t.Errorf("stat %+v, lstat %+v, %v", st, by, err)
	}
	for _, name := range []string{"l", "..", "a/b", ""} {
		if f, err := d.OpenFile(name); err == nil {
			f.Close()
			t.Errorf("%q opened", name)
		}
	}
	if target, err := d.Readlink("l"); err != nil || target != "f" {
		t.Errorf("Readlink = %q, %v", target, err)
	}
	if st, err := d.Lstat("l"); err != nil || st.Mode.Type() != tree.Symlink {
		t.Errorf("Lstat = %+v, %v", st, err)
	}
}

func TestALargeDirectoryIsListedWhole(t *testing.T) {
	root := t.TempDir()
	var want []string
	for i := range 3000 {
		name := strings.Repeat("n", i%200+1) + "-" + string(rune('a'+i%26)) + strings.Repeat("x", i/200)
		want = append(want, name)
		must(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	slices.Sort(want)
	want = slices.Compact(want)
	d := open(t, root)
	for range 2 {
		if got := names(t, d); !slices.Equal(got, want) {
			t.Fatalf("%d names, want %d", len(got), len(want))
		}
	}
}
