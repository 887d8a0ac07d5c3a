//go:build linux

package watched_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"golang.org/x/sys/unix"
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

// plain is a world without chance. Most of these tests wait for time to pass, and do it together.
func plain(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, r: rand.New(rand.NewPCG(1, 1)), ctx: t.Context(), base: t.TempDir(), tree: &engine.Watch{}}
	w.dir = filepath.Join(w.base, "w")
	w.must(os.Mkdir(w.dir, 0o755))
	w.must(os.Mkdir(filepath.Join(w.base, "home"), 0o755))
	t.Cleanup(func() { w.tree.Close() })
	return w
}

// settle lets time pass until no file is read again for its youth.
func (w *world) settle() {
	w.arm()
	time.Sleep(2100 * time.Millisecond)
	w.snapshot()
	w.arm()
}

func TestWhatNobodyToldIsNotOverwrittenByARestore(t *testing.T) {
	t.Parallel()
	w := plain(t)
	path := w.file("d/f", "one")
	first := w.snapshot()
	w.file("d/f", "two")
	w.settle()
	end := hide(t, path)
	defer end()
	e := w.engine(w.tree)
	defer e.Close()
	r, err := e.Do(w.ctx, engine.Op{To: first.ID})
	w.must(err)
	if got, _ := os.ReadFile(path); string(got) != "!wo" || r.Written != 0 || len(r.Conflicts) != 1 {
		t.Errorf("%q is in the file, %+v", got, r)
	}
}

func TestAnotherProcessThatRecordsMakesTheNextTurnAFullOne(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	w := plain(t)
	w.file("d/f", "one")
	w.arm()
	e, err := w.tree.Open(w.ctx, w.dir, &engine.Options{Getenv: func(name string) string {
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

func TestTheAuditFindsWhatWasMissed(t *testing.T) {
	t.Parallel()
	w := plain(t)
	path := w.file("d/e/f", "one")
	w.file("d/e/g", "one")
	w.run("git", "init", "-q")
	told := make(chan string, 9)
	w.tree.Missed = func(what string) { told <- what }
	w.settle()
	before := w.snapshot()
	end := hide(t, path)
	defer end()
	if r := w.snapshot(); !r.Reused || r.ID != before.ID {
		t.Fatal("a mapped write is no secret any more: say so in the documents")
	}
	if what := <-told; what != `a change of "d/e/f" went unnoticed` { // from the audit in the background
		t.Errorf("told %q", what)
	}
	if r := w.snapshot(); r.ID == before.ID || r.Changed == 0 {
		t.Error("the snapshot after the audit has not what was missed")
	}
	e := w.engine(&engine.Watch{})
	defer e.Close()
	if _, err := e.Snapshot(w.ctx, nil); err != nil {
		t.Fatal(err)
	}
	st, err := e.Status(w.ctx)
	note := filepath.Join(filepath.Dir(st.Store), "watch.off")
	if err != nil || st.Watched || !strings.Contains(st.Unwatched, "d/e/f") || !strings.Contains(st.Unwatched, note) {
		t.Errorf("another program's status: %q, %v", st.Unwatched, err)
	}
	if all := strings.Join(st.Warnings, "\n"); !strings.Contains(all, "d/e/f") {
		t.Errorf("warnings of a command: %q", all)
	}
	w.must(os.Remove(note))
	w.tree = &engine.Watch{}
	t.Cleanup(func() { w.tree.Close() })
	w.arm()
}

// Nothing tells of a name that is made for a file outside of the worktree.
func TestANameFromOutsideIsKnownAfterTheAudit(t *testing.T) {
	t.Parallel()
	w := plain(t)
	path, other := w.file("d/f", "one"), filepath.Join(w.base, "other")
	w.settle()
	w.must(os.Link(path, other))
	if missed := w.tree.Audit(); missed != "" || w.tree.Pending() != 1 {
		t.Errorf("missed %q, %d changes", missed, w.tree.Pending())
	}
	w.snapshot()
	for _, text := range []string{"two", "three"} {
		w.must(os.WriteFile(other, []byte(text), 0o644))
		if r := w.snapshot(); r.Changed == 0 {
			t.Errorf("%q, written through another name, was not seen", text)
		}
	}
}

func TestTheAuditLeavesToTheNextTurnWhatWasTold(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.file("d/f", "one")
	w.file("g/h/i", "one")
	w.settle()
	w.file("d/f", "two!")
	w.file("d/new", "two")
	w.must(os.RemoveAll(filepath.Join(w.dir, "g")))
	if missed := w.tree.Audit(); missed != "" || w.tree.Pending() == 0 {
		t.Errorf("missed %q, %d changes", missed, w.tree.Pending())
	}
	if r := w.snapshot(); r.Changed < 3 {
		t.Errorf("%d changes", r.Changed)
	}
}

func TestATurnThatFailsLeavesWhatChangedToTheNext(t *testing.T) {
	t.Parallel()
	w := plain(t)
	path := w.file("d/e/f", "one")
	w.settle()
	w.must(os.WriteFile(path, []byte("two"), 0o644))
	ctx, cancel := context.WithCancel(w.ctx)
	e, err := w.tree.Open(w.ctx, w.dir, &engine.Options{Getenv: w.env})
	w.must(err)
	defer e.Close()
	w.tree.Begin(w.ctx, e.Root(), 0, "").Close() // one that ends before it asks
	turn := w.tree.Begin(w.ctx, e.Root(), 0, "") // one that finds out what changed, and ends
	if turn.Only() == nil || !turn.Only().Has("d/e", "f") {
		t.Errorf("the change is not told")
	}
	turn.Close()
	cancel()
	if _, err := e.Snapshot(ctx, nil); err == nil {
		t.Error("a cancelled snapshot was taken")
	}
	if watched, why := w.tree.State(); !watched {
		t.Errorf("not watched any more: %s", why)
	}
	if r := w.snapshot(); r.Changed == 0 {
		t.Error("the change is in no snapshot")
	}
}

// A turn that looked at everything and recorded nothing, as rewind watch --no-points
// takes one, was told which directories are others than before, and nobody else is.
func TestADirectoryThatIsExchangedBeforeATurnThatRecordsNothingIsWatched(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"looks", "fails"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := plain(t)
			w.file("d/f", "one")
			w.file("e/f", "two")
			w.arm()
			time.Sleep(2100 * time.Millisecond)
			w.snapshot()
			w.tree.Doubt()
			w.snapshot() // begins to watch
			for !w.tree.Standing() {
				time.Sleep(time.Millisecond)
			}
			w.must(os.Rename(filepath.Join(w.dir, "d"), filepath.Join(w.dir, "old")))
			w.must(os.Rename(filepath.Join(w.dir, "e"), filepath.Join(w.dir, "d")))
			e := w.engine(w.tree)
			defer e.Close()
			if what == "looks" {
				w.must(e.Warm(w.ctx))
			} else {
				turn := w.tree.Begin(w.ctx, e.Root(), 0, "")
				turn.Everything()
				turn.Close()
			}
			w.settle()
			w.file("d/f", "three")
			w.compare()
			if w.watched != 1 {
				t.Errorf("the turn after one that %s looked at everything, so nothing is proved", what)
			}
		})
	}
}

func TestARepositoryBelowIsNamedOnceThoughTheScanLooksTwice(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.run("git", "init", "-q")
	path := w.file("nested/f", "one")
	w.run("git", "init", "-q", filepath.Join(w.dir, "nested"))
	w.file("d/e/f", "one")
	w.settle()
	w.must(os.Link(path, filepath.Join(w.dir, "d/e/g"))) // the scan meets it, and looks for its other name
	if r := w.snapshot(); len(r.Nested) != 1 {
		t.Errorf("repositories below: %v", r.Nested)
	}
}

// Seed 57026: a directory that is mounted in the worktree was deleted under its other
// name, in the worktree or outside of it. Where it is mounted nothing can be listed any
// more, and the kernel tells nobody.
func TestADirectoryThatIsDeletedUnderItsOtherNameIsGone(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"w/d/d/out", "outside"} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			w := plain(t)
			w.file("f", "1")
			from, at := filepath.Join(w.base, other), filepath.Join(w.dir, "e")
			for _, dir := range []string{from, at, filepath.Join(w.dir, "d/d")} {
				w.must(os.MkdirAll(dir, 0o755))
			}
			if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
				t.Skipf("SKIPPED: mount: %v", err)
			}
			t.Cleanup(w.unmount)
			w.settle()
			for _, gone := range []string{from, filepath.Join(w.dir, "d/d")} {
				w.arm() // on a busy machine the turn before may have begun to watch anew
				w.must(os.RemoveAll(gone))
				switch only, why := w.tree.State(); {
				case !only && strings.Contains(why, "did not answer in time"):
					t.Skipf("SKIPPED: this machine is too busy to tell whether the deletion of %s costs a whole look: %s", gone, why)
				case !only:
					t.Errorf("before the turn after %s is gone all is looked at: %s", gone, why)
				}
				w.compare()
			}
		})
	}
}

func TestTheAuditLooksBesideFilesWithOtherNames(t *testing.T) {
	t.Parallel()
	w := plain(t)
	path := w.file("d/e/f", "one")
	w.file("d/e/g", "one")
	w.must(os.Link(filepath.Join(w.dir, "d/e/g"), filepath.Join(w.base, "home", "g")))
	w.settle()
	end := hide(t, path)
	defer end()
	w.snapshot()
	for range 4000 {
		time.Sleep(5 * time.Millisecond)
		if only, why := w.tree.State(); !only {
			if !strings.Contains(why, `"d/e/f" went unnoticed`) {
				t.Error(why)
			}
			return
		}
	}
	t.Error("a change that nobody was told of is not found beside a file with two names")
}
