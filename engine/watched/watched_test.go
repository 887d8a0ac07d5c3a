//go:build linux

package watched_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/watched"
)

// hide changes a file so that no watcher is told before the mapping ends.
func hide(t *testing.T, path string) (end func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	page[0] = '!'
	return func() { unix.Munmap(page) }
}

func (w *world) file(name, text string) string {
	path := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o644))
	return path
}

// plain is a world without chance.
func plain(t *testing.T) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(1, 1)), ctx: t.Context(), base: t.TempDir(), tree: &watched.Tree{}}
	w.dir = filepath.Join(w.base, "w")
	w.must(os.Mkdir(w.dir, 0o755))
	w.must(os.Mkdir(filepath.Join(w.base, "home"), 0o755))
	t.Cleanup(w.tree.Close)
	return w
}

func TestARestoreLooksAtEverything(t *testing.T) {
	w := plain(t)
	path := w.file("d/f", "one")
	first := w.snapshot()
	w.must(os.Chtimes(path, old, old)) // long ago: nothing reads it again for its youth
	w.arm()
	end := hide(t, path)
	defer end()
	e := w.engine(w.tree)
	defer e.Close()
	r, err := e.Restore(w.ctx, first.ID, nil)
	w.must(err)
	if got, _ := os.ReadFile(path); string(got) != "one" || r.Written != 1 {
		t.Errorf("%q is in the file, %d were written", got, r.Written)
	}
	if _, err := e.Undo(w.ctx); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "!ne" {
		t.Errorf("%q after undo: what the watcher could not see was not in the snapshot before the restore", got)
	}
}

func TestAnotherProcessThatRecordsMakesTheNextTurnAFullOne(t *testing.T) {
	w := plain(t)
	path := w.file("d/f", "one")
	w.arm()
	w.must(os.WriteFile(path, []byte("two"), 0o644))
	e := w.engine(nil)
	defer e.Close()
	theirs, err := e.Snapshot(w.ctx, nil)
	w.must(err)
	if ours := w.snapshot(); !ours.Reused || ours.ID != theirs.ID {
		t.Errorf("another snapshot of the same: %v after %v", ours.ID, theirs.ID)
	}
	w.arm()
}

func TestASettingEndsTheWatching(t *testing.T) {
	w := plain(t)
	w.file("d/f", "one")
	w.arm()
	e, err := engine.Open(w.ctx, w.dir, &engine.Options{Watch: w.tree, Getenv: func(name string) string {
		if name == "REWIND_WATCH" {
			return "false"
		}
		return w.env(name)
	}})
	w.must(err)
	defer e.Close()
	if _, err := e.Snapshot(w.ctx, nil); err != nil {
		t.Fatal(err)
	}
	if st, err := e.Status(w.ctx); err != nil || st.Watched || st.Unwatched != "rewind.watch is false" {
		t.Errorf("%+v, %v", st, err)
	}
}
