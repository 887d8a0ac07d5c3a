//go:build linux

package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// watching watches a new directory with these below it.
func watching(t *testing.T, dirs ...string) (root string, w *Watcher) {
	t.Helper()
	root = t.TempDir()
	for _, dir := range dirs {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	w, err := New(root)
	must(t, err)
	t.Cleanup(w.Close)
	for _, dir := range append([]string{""}, dirs...) {
		must(t, w.Add(dir))
	}
	take(t, w)
	return root, w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, w *Watcher) *worktree.Changes {
	t.Helper()
	all, err := w.Take(context.Background())
	must(t, err)
	return all
}

// want fails if one of the paths is not among those that are taken; a slash behind it
// means all below, a star all names in it.
func want(t *testing.T, w *Watcher, paths ...string) {
	t.Helper()
	got := take(t, w)
	for _, p := range paths {
		if !told(got, p) {
			t.Errorf("%s is not told, only %+v", p, got)
		}
	}
}

// told reports whether a path is among changes; a slash behind it means all below.
func told(c *worktree.Changes, p string) bool {
	if dir, below := strings.CutSuffix(p, "/"); below {
		return slices.Contains(slices.Collect(c.Below()), dir)
	}
	dir, name := path.Split(p)
	return c.Has(strings.TrimSuffix(dir, "/"), name)
}

// bind gives a file or directory a second name until the test ends, or skips the test.
func bind(t *testing.T, from, at string) {
	t.Helper()
	if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("SKIPPED: mount: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// git's own watcher keeps the old names of what lies in a directory that was moved.
func TestAfterAMoveADirectoryIsToldByItsNewPath(t *testing.T) {
	root, w := watching(t, "a", "a/b")
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "c")))
	take(t, w)
	for _, dir := range []string{"c", "c/b"} {
		must(t, w.Add(dir))
	}
	write(t, filepath.Join(root, "c/b/f"), "1")
	want(t, w, "c/b/f")
	for _, dir := range []string{"a", "a/b"} {
		w.Remove(dir)
	}
	take(t, w)
	write(t, filepath.Join(root, "c/b/f"), "2")
	want(t, w, "c/b/f")
	must(t, os.Mkdir(filepath.Join(root, "a"), 0o755)) // another one, while the first lies elsewhere
	must(t, w.Add("a"))
	take(t, w)
	write(t, filepath.Join(root, "a/g"), "2")
	want(t, w, "a/g")
}

func TestAFileThatIsOpenForWritingStaysUntilItIsClosed(t *testing.T) {
	root, w := watching(t, "a")
	path := filepath.Join(root, "a/f")
	f, err := os.Create(path)
	must(t, err)
	_, err = f.Write(make([]byte, 4096))
	must(t, err)
	for range 3 {
		want(t, w, "a/f")
	}
	page, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	must(t, f.Close())
	page[0] = 1
	want(t, w, "a/f")
	must(t, unix.Munmap(page))
	want(t, w, "a/f")
	if got := take(t, w); got.Len() != 0 {
		t.Errorf("it is closed, and %+v told", got)
	}
}

// What is written to mapped memory is told under no name, also after the file, or a
// directory above it, has another one.
func TestAFileThatIsOpenForWritingStaysUnderItsNewName(t *testing.T) {
	root, w := watching(t, "a", "a/d", "a/d/e")
	at := func(path string) string { return filepath.Join(root, path) }
	open := func(path string) *os.File {
		f, err := os.Create(at(path))
		must(t, err)
		_, err = f.Write([]byte("1"))
		must(t, err)
		return f
	}
	f, g := open("a/f"), open("a/d/e/g")
	write(t, at("a/closed"), "1")
	take(t, w)
	must(t, os.Rename(at("a/f"), at("h")))
	must(t, os.Rename(at("a/d"), at("a/i")))
	take(t, w)
	must(t, w.Add("a/i"))
	must(t, w.Add("a/i/e"))
	take(t, w)
	moved := []string{"h", "a/i/e/g"}
	want(t, w, moved...)
	must(t, unix.Renameat2(unix.AT_FDCWD, at("a/closed"), unix.AT_FDCWD, at("h"), unix.RENAME_EXCHANGE))
	take(t, w)
	if got := take(t, w); !told(got, "a/closed") {
		t.Errorf("after an exchange: %+v", got)
	}
	must(t, unix.Renameat2(unix.AT_FDCWD, at("a/closed"), unix.AT_FDCWD, at("h"), unix.RENAME_EXCHANGE))
	take(t, w)
	if got := take(t, w); !told(got, "h") {
		t.Errorf("after another exchange: %+v", got)
	}
	must(t, errors.Join(f.Close(), g.Close()))
	take(t, w)
	if got := take(t, w); told(got, moved[0]) || told(got, moved[1]) {
		t.Errorf("both are closed, and %+v told", got)
	}
}

// A mapping of a file that was there before, which outlives the file that was
// opened, is told when it ends: not before, which is why there is an audit.
func TestAMappingIsToldWhenItEnds(t *testing.T) {
	root, w := watching(t, "a")
	path := filepath.Join(root, "a/f")
	write(t, path, string(make([]byte, 4096)))
	take(t, w)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	page, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	must(t, f.Close())
	page[0] = 1
	if got := take(t, w); got.Len() != 0 {
		t.Errorf("the kernel tells of mapped pages now: %+v; say so in the documents", got)
	}
	must(t, unix.Munmap(page))
	want(t, w, "a/f")
}

func TestDoubtEndsTheWatching(t *testing.T) {
	ctx := context.Background()
	root, w := watching(t, "a")
	must(t, os.Rename(root, root+"2"))
	if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) {
		t.Errorf("the root was moved: %v", err)
	}
	if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) {
		t.Errorf("once in doubt, always: %v", err)
	}
	root, w = watching(t, "a")
	w.mu.Lock() // nobody reads the queue
	for i := range 40_000 {
		must(t, os.Chmod(root, 0o700|os.FileMode(i%2)))
		must(t, os.Chmod(filepath.Join(root, "a"), 0o700|os.FileMode(i%2)))
	}
	w.mu.Unlock()
	// Before it is asked: a cookie that was dropped too ends in doubt by itself.
	for end := time.Now().Add(10 * time.Second); !doubts(w) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) || !strings.Contains(err.Error(), "max_queued_events") {
		t.Errorf("the queue ran over: %v", err)
	}
	_, w = watching(t)
	w.Close()
	if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) {
		t.Errorf("closed: %v", err)
	}
}

func doubts(w *Watcher) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubt != nil
}

func TestTwoMountsOfOneDirectoryAreBothTold(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/sub", "b"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	bind(t, filepath.Join(root, "a"), filepath.Join(root, "b"))
	w, err := New(root)
	must(t, err)
	t.Cleanup(w.Close)
	for _, dir := range []string{"", "a", "a/sub", "b", "b/sub"} {
		must(t, w.Add(dir))
	}
	take(t, w)
	write(t, filepath.Join(root, "a/sub/f"), "1")
	want(t, w, "a/sub/f", "b/*", "b/sub/f")
	w.Remove("a/sub")
	write(t, filepath.Join(root, "a/sub/g"), "1")
	want(t, w, "b/*", "b/sub/g")
	must(t, unix.Unmount(filepath.Join(root, "b"), unix.MNT_DETACH))
	if _, err := w.Take(context.Background()); !errors.Is(err, ErrDoubt) {
		t.Errorf("after an unmount: %v", err)
	}
}

// The kernel tells once that something was mounted.
func TestAMountIsNotForgottenWithTheTurnThatMetIt(t *testing.T) {
	root, w := watching(t, "a")
	at := filepath.Join(root, "a")
	take(t, w)
	bind(t, t.TempDir(), at)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Take(ended); err == nil {
		t.Error("a turn that had ended was answered")
	}
	if _, err := w.Take(context.Background()); !errors.Is(err, ErrDoubt) {
		t.Errorf("the next turn: %v", err)
	}
}

// It may be deleted under its other name, and nobody need be told.
func TestWhereSomethingIsMountedEachTakeHasIt(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	at := filepath.Join(root, "d/the place")
	must(t, os.MkdirAll(at, 0o755))
	bind(t, outside, at)
	w, err := New(root)
	must(t, err)
	t.Cleanup(w.Close)
	for _, dir := range []string{"", "d", "d/the place"} {
		must(t, w.Add(dir))
	}
	take(t, w)
	for range 2 {
		want(t, w, "d/the place/*")
	}
	must(t, os.Remove(outside))
	want(t, w, "d/the place/*")
}

func TestManyChangesBecomeAllOfADirectory(t *testing.T) {
	root, w := watching(t, "a")
	for i := range 600 {
		write(t, filepath.Join(root, "a", fmt.Sprint(i)), "")
	}
	if got := take(t, w); !told(got, "a/*") {
		t.Errorf("not all names of the directory are told: %+v", got)
	}
}

// A write through either name is told of the one where the file was before.
func TestWhereAFileIsMountedNothingIsWatched(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(root, name), name)
	}
	bind(t, filepath.Join(root, "a"), filepath.Join(root, "b"))
	if w, err := New(root); !errors.Is(err, ErrUnable) {
		w.Close()
		t.Errorf("watched: %v", err)
	}
}

func TestHalfOfTheWatchesAreLeftToOthers(t *testing.T) {
	root, w := watching(t, "a", "b")
	must(t, os.Mkdir(filepath.Join(root, "c"), 0o755))
	if limit, err := share(); err != nil || limit == 0 || w.most != limit {
		t.Errorf("%d of %d, %v", w.most, limit, err)
	}
	w.most = 3
	must(t, w.Add("b")) // it has its watch
	if err := w.Add("c"); !errors.Is(err, ErrUnable) || !strings.Contains(err.Error(), "max_user_watches") {
		t.Errorf("one more than there is room for: %v", err)
	}
}

func TestOnlyFileSystemsOfThisMachineAreWatched(t *testing.T) {
	m := mounts{root: "/home/u/the project"}
	line := func(at, kind string) string { return "22 1 0:21 / " + at + " rw shared:1 - " + kind + " x rw\n" }
	root := line("/", "overlay")
	for _, c := range []struct {
		table string
		told  string // "" if it is watched
	}{
		{root, ""},
		{root + line("/home", "nfs4") + line("/home/u", "ext4"), ""},
		{root + line("/home/u", "nfs4"), "/home/u is a file system of type nfs4"},
		{root + line("/home/u", "ext4") + line("/home/u", "fuse.sshfs"), "fuse.sshfs"},
		{root + line(`/home/u/the\040project`, "virtiofs"), "virtiofs"},
		{root + line(`/home/u/the\040project/sub`, "9p"), "9p"},
		{root + line(`/home/u/the\040project/no/such/file`, "ext4"), "a file is mounted"},
		{root + line("/home/u/the", "nfs") + line("/mnt", "cifs"), ""},
		{line("/home", "ext4") + root, ""},
		{root + "nonsense\n", "unknown form"},
		{"", "not all told"},
	} {
		_, _, err := m.of([]byte(c.table))
		if (err == nil) != (c.told == "") || err != nil && !strings.Contains(err.Error(), c.told) {
			t.Errorf("%q: %v, want %q", c.table, err, c.told)
		}
	}
}
