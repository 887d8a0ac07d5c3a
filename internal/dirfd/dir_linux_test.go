package dirfd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

const fifo tree.Mode = 0010000 // as stat(2) has it

func TestAPathLongerThanTheSystemAllowsIsOpened(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	part := strings.Repeat("d", 200)
	at, rel := d.fd, part
	for i := range 30 {
		must(t, unix.Mkdirat(at, part, 0o755))
		fd, err := unix.Openat(at, part, unix.O_DIRECTORY, 0)
		must(t, err)
		defer unix.Close(fd)
		if at = fd; i > 0 {
			rel += "/" + part
		}
	}
	must(t, unix.Mkdirat(at, "last", 0o755))
	deep, err := d.OpenDir(rel)
	must(t, err)
	defer deep.Close()
	if got := names(t, deep); len(got) != 1 || got[0] != "last" {
		t.Errorf("names %q", got)
	}
	if _, err := d.OpenDir(rel + "/" + strings.Repeat("x", 5000)); err == nil {
		t.Error("a name of 5000 bytes was opened")
	}
}

func TestComponentsGiveWhatOpenat2Gives(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "a", "b", "c"), 0o755))
	must(t, os.Symlink("b", filepath.Join(root, "a", "l")))
	d := open(t, root)
	for rel, ok := range map[string]bool{"a": true, "a/b/c": true, "a/l": false, "a/l/c": false, "a/x": false} {
		fd, err := openByComponents(d.fd, rel)
		if (err == nil) != ok {
			t.Errorf("%q: %v", rel, err)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}

func TestPipesAndSocketsAreNamedAndDoNotBlock(t *testing.T) {
	root := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(root, "p"), 0o600))
	d := open(t, root)
	list, err := d.List()
	must(t, err)
	if len(list) != 1 || list[0].Type != fifo {
		t.Errorf("list %+v", list)
	}
	f, err := d.OpenFile("p")
	must(t, err)
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Mode.Type() != fifo {
		t.Errorf("stat %+v, %v", st, err)
	}
}

func TestAQuickLookSeesTheSameAndDoesNotAllocate(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("data"), 0o640))
	must(t, os.Symlink("f", filepath.Join(root, "l")))
	slow, quick := open(t, root), open(t, root)
	quick.Quick()
	for _, name := range []string{"f\x00", "l\x00", "none\x00"} {
		name := []byte(name)
		var want, got Stat
		wantErr, err := slow.LstatRaw(&name[0], &want), quick.LstatRaw(&name[0], &got)
		if got != want || err != wantErr {
			t.Errorf("%q: %+v, %v; quick: %+v, %v", name, want, wantErr, got, err)
		}
		for _, d := range []*Dir{slow, quick} {
			if n := testing.AllocsPerRun(100, func() { _ = d.LstatRaw(&name[0], &got) }); n != 0 && err == nil {
				t.Errorf("%q: %v allocations", name, n)
			}
		}
	}
}
