package fork

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// nothing is known: all is taken along but for what is named.
type nothing map[string]bool

// A world has a directory to take from, and one to take to.
type world struct {
	*testing.T
	from, to string
}

func newWorld(t *testing.T, base string) *world {
	w := &world{t, filepath.Join(base, "from"), filepath.Join(base, "to")}
	w.must(os.Mkdir(w.from, 0o755))
	w.must(os.Mkdir(w.to, 0o755))
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(path, text string) {
	w.Helper()
	path = filepath.Join(w.from, path)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o644))
}

func (w *world) look(n nothing) *Ignored {
	w.Helper()
	l, err := findIgnored(w.Context(), w.from, known{n, n}, func(dir string) bool { return dir == "since" })
	w.must(err)
	return l
}

func (w *world) take(known nothing, how How) (*Ignored, Taken) {
	w.Helper()
	l := w.look(known)
	l.how = how
	taken, err := l.put(w.Context(), w.to)
	w.must(err)
	return l, taken
}

// has checks a file of the target.
func (w *world) has(path, text string) {
	w.Helper()
	if got, err := os.ReadFile(filepath.Join(w.to, path)); err != nil || string(got) != text {
		w.Errorf("%s: %.100q, %v, want %.100q", path, got, err, text)
	}
}

func (w *world) lacks(paths ...string) {
	w.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(filepath.Join(w.to, path)); !errors.Is(err, os.ErrNotExist) {
			w.Errorf("%s is there (%v)", path, err)
		}
	}
}

func named(list []engine.Note) (out []string) {
	for _, n := range list {
		out = append(out, string(n.Path)+": "+n.Reason)
	}
	slices.Sort(out)
	return out
}

func TestWhatIsTakenAlongIsAsItWas(t *testing.T) {
	w := newWorld(t, t.TempDir())
	odd := "line\nbreak \xff \x1b[31m"
	w.write("known", "known")
	w.write("dir/known", "known")
	w.write("dir/new", "new")
	w.write("deps/"+odd, "odd")
	w.write("deps/bin/tool", "tool")
	w.write("deps/.git/config", "of no use")
	w.write("other/.git", "gitdir: elsewhere")
	w.write("other/file", "of a repository")
	w.write(".git/config", "the repository's own")
	w.write("deps2/.GIT/x", "x")
	w.write("since/modules/x", "of a directory that was made since")
	w.must(os.Mkdir(filepath.Join(w.to, "dir"), 0o755))
	w.must(os.RemoveAll(filepath.Join(w.from, "deps/.git")))
	w.must(os.Mkdir(filepath.Join(w.from, "empty"), 0o750))
	w.must(os.Symlink("../nowhere", filepath.Join(w.from, "deps/link")))
	w.must(os.Symlink(w.from+"/known", filepath.Join(w.from, "deps/back")))
	w.must(syscall.Mkfifo(filepath.Join(w.from, "deps/pipe"), 0o644))
	w.must(os.Chmod(filepath.Join(w.from, "deps/bin/tool"), 0o555))
	w.must(os.Chmod(filepath.Join(w.from, "deps/bin"), 0o555))
	t.Cleanup(func() {
		for _, dir := range []string{w.from, w.to} {
			_ = os.Chmod(filepath.Join(dir, "deps/bin"), 0o755) // so that it can be removed
		}
	})
	old := time.Date(2020, 1, 2, 3, 4, 5, 678, time.UTC)
	for _, name := range []string{"deps/bin/tool", "deps/bin", "deps", "dir/new"} {
		w.must(os.Chtimes(filepath.Join(w.from, name), old, old))
	}
	l, taken := w.take(nothing{"known": true, "dir": true, "dir/known": true, "since": true}, How{Copy: true})
	if l.Files != 5 || taken.Files != 5 || len(taken.Failed) > 0 {
		t.Errorf("%d of %d, %d bytes of %d, %q", taken.Files, l.Files, taken.Bytes, l.Bytes, named(taken.Failed))
	}
	if got := named(l.Left); !slices.Equal(got, []string{"deps/pipe: it is neither a file, a link nor a directory", "deps2/.GIT: some file systems take it for a .git", "other: it is a repository of its own", "since: the snapshot has no such directory"}) {
		t.Errorf("left: %q", got)
	}
	if got := named(l.Back); len(got) != 1 || !strings.HasPrefix(got[0], "deps/back: it leads to "+w.from) {
		t.Errorf("back: %q", got)
	}
	w.has("dir/new", "new")
	w.has("deps/"+odd, "odd")
	w.has("deps/bin/tool", "tool")
	w.lacks("known", "dir/known", "deps/pipe", "other", ".git", "deps2/.GIT", "since")
	if target, err := os.Readlink(filepath.Join(w.to, "deps/link")); err != nil || target != "../nowhere" {
		t.Errorf("link: %q, %v", target, err)
	}
	for name, mode := range map[string]os.FileMode{"deps/bin/tool": 0o555, "deps/bin": 0o555, "empty": 0o750, "dir/new": 0o644} {
		info, err := os.Lstat(filepath.Join(w.to, name))
		w.must(err)
		if info.Mode().Perm() != mode || name != "empty" && !info.ModTime().Equal(old) {
			t.Errorf("%s: %v, %v", name, info.Mode(), info.ModTime())
		}
		if n := info.Sys().(*syscall.Stat_t).Nlink; !info.IsDir() && n != 1 {
			t.Errorf("%s has %d links", name, n)
		}
	}
}

func TestNothingThatIsThereIsReplaced(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.write("file", "new")
	w.write("dir/file", "new")
	w.write("away/file", "new")
	w.write("link", "new")
	elsewhere := t.TempDir()
	w.must(os.WriteFile(filepath.Join(w.to, "file"), []byte("old"), 0o600))
	w.must(os.WriteFile(filepath.Join(w.to, "dir"), []byte("old"), 0o600))
	w.must(os.Symlink(elsewhere, filepath.Join(w.to, "away")))
	w.must(os.Symlink(filepath.Join(elsewhere, "target"), filepath.Join(w.to, "link")))
	_, taken := w.take(nil, How{Copy: true})
	want := []string{"away: something else stands there", "dir: something else stands there", "file: something is there already", "link: something is there already"}
	if got := named(taken.Failed); !slices.Equal(got, want) || taken.Files != 0 {
		t.Errorf("%q, %d taken", got, taken.Files)
	}
	w.has("file", "old")
	w.has("dir", "old")
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("through a link came %v, %v", list, err)
	}
}

func TestAFileThatChangesMeanwhileIsTriedAgainAndNamed(t *testing.T) {
	for changes, want := range map[int]int{1: 0, 2: 0, 3: 1} {
		w := newWorld(t, t.TempDir())
		w.write("file", "0")
		n := 0
		_, taken := w.take(nil, How{Copy: true, taken: func(string) {
			if n++; n <= changes {
				w.write("file", strings.Repeat("x", n))
			}
		}})
		if len(taken.Failed) != want || taken.Files != 1 {
			t.Errorf("%d changes: %+v", changes, taken)
		}
		w.has("file", strings.Repeat("x", min(changes, tries-1)))
	}
}

func TestAHoleStaysAHole(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.write("sparse", "begin")
	f, err := os.OpenFile(filepath.Join(w.from, "sparse"), os.O_RDWR, 0)
	w.must(err)
	_, err = f.WriteAt([]byte("middle"), 1<<33)
	w.must(errors.Join(err, f.Truncate(1<<34), f.Close()))
	_, taken := w.take(nil, How{Copy: true})
	if len(taken.Failed) > 0 || taken.Bytes != 1<<34 {
		t.Fatalf("%+v", taken)
	}
	info, err := os.Stat(filepath.Join(w.to, "sparse"))
	w.must(err)
	if kept := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != 1<<34 || kept > 1<<22 {
		t.Errorf("%d bytes, of which %d are kept", info.Size(), kept)
	}
	g, err := os.Open(filepath.Join(w.to, "sparse"))
	w.must(err)
	defer g.Close()
	buf := make([]byte, 6)
	if _, err := g.ReadAt(buf, 1<<33); err != nil || string(buf) != "middle" {
		t.Errorf("%q, %v", buf, err)
	}
}

func TestWhoStopsItLeavesNoHalfFile(t *testing.T) {
	w := newWorld(t, t.TempDir())
	for i := range 50 {
		w.write(fmt.Sprintf("d%d/file", i), strings.Repeat("x", 1<<16))
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	l := w.look(nil)
	l.how = How{Copy: true, Progress: func(int, int) {
		if n++; n == 10 {
			cancel()
		}
	}}
	_, err := l.put(ctx, w.to)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	whole := 0
	w.must(filepath.Walk(w.to, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			if whole++; info.Size() != 1<<16 {
				t.Errorf("%s has %d bytes", path, info.Size())
			}
		}
		return err
	}))
	if whole < 10 || whole == 50 {
		t.Errorf("%d files", whole)
	}
}

// mountedAt mounts a file system of its own.
func mountedAt(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can mount")
	}
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: it cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// reflinks is a new file system that shares contents.
func reflinks(t *testing.T) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	must(t, errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 400<<20)))
	for _, make := range [][]string{{"mkfs.xfs", "-q", "-m", "reflink=1", image}, {"mkfs.btrfs", "-q", image}} {
		if exec.Command(make[0], make[1:]...).Run() == nil {
			return mountedAt(t, "-o", "loop", image)
		}
	}
	t.Skip("SKIPPED: sharing contents needs mkfs.xfs or mkfs.btrfs")
	return ""
}

func TestContentsAreSharedWhereTheFileSystemCan(t *testing.T) {
	w := newWorld(t, reflinks(t))
	large := strings.Repeat("0123456789abcdef", 1<<16)
	w.write("large", large)
	w.write("small", "small")
	w.write("empty", "")
	l := w.look(nil)
	if !l.sharesWith(filepath.Dir(w.to)) {
		t.Error("it says that it cannot")
	}
	if l.sharesWith(mountedAt(t, "-t", "tmpfs", "tmpfs")) {
		t.Error("it says that it can with another file system")
	}
	var before, after syscall.Statfs_t
	w.must(syscall.Statfs(w.from, &before))
	taken, err := l.put(t.Context(), w.to)
	w.must(err)
	w.must(syscall.Statfs(w.from, &after))
	if taken.Files != 3 || taken.Shared != 3 || len(taken.Failed) > 0 {
		t.Errorf("%+v", taken)
	}
	w.has("large", large)
	w.has("small", "small")
	w.has("empty", "")
	if list, err := os.ReadDir(filepath.Dir(w.to)); err != nil || slices.ContainsFunc(list, func(d os.DirEntry) bool { return d.Name() != "from" && d.Name() != "to" && d.Name() != "lost+found" }) {
		t.Errorf("beside it lies %v, %v", list, err)
	}
	w.must(os.WriteFile(filepath.Join(w.to, "large"), []byte("other"), 0o644))
	if now, err := os.ReadFile(filepath.Join(w.from, "large")); err != nil || !bytes.Equal(now, []byte(large)) {
		t.Errorf("a write to the new file is seen in the old one: %v", err)
	}
}

func TestWhereContentsCannotBeSharedNothingIsCopiedUnasked(t *testing.T) {
	base := mountedAt(t, "-t", "tmpfs", "tmpfs")
	w := newWorld(t, base)
	w.write("dir/file", "text")
	l := w.look(nil)
	if l.sharesWith(base) {
		t.Error("it says that it can share")
	}
	taken, err := l.put(t.Context(), w.to)
	w.must(err)
	if got := named(taken.Failed); len(got) != 1 || !strings.Contains(got[0], "--ignored=copy") || taken.Files != 0 {
		t.Errorf("%q, %+v", got, taken)
	}
	w.lacks("dir/file")
}

func TestAFullDiskEndsIt(t *testing.T) {
	base := t.TempDir()
	w := &world{t, filepath.Join(base, "from"), mountedAt(t, "-t", "tmpfs", "-o", "size=256k", "tmpfs")}
	for i := range 20 {
		w.write(fmt.Sprintf("f%02d", i), strings.Repeat("x", 1<<15))
	}
	l := w.look(nil)
	l.how.Copy = true
	_, err := l.put(t.Context(), w.to)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	list, err := os.ReadDir(w.to)
	w.must(err)
	for _, d := range list {
		if info, err := d.Info(); err != nil || info.Size() != 1<<15 {
			t.Errorf("%s: %v, %v", d.Name(), info, err)
		}
	}
}

// A snapshot may have a directory as it was before it was closed.
func TestWhatADirectoryKeepsFromOthersIsNotOpenedToThem(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.write("closed/key", "secret")
	w.write("closed/made/inner/key", "secret")
	w.write("group/key", "for a group")
	w.write("open/key", "public")
	w.write("private/key", "private both here and there")
	known := nothing{}
	for name, mode := range map[string][2]os.FileMode{"closed": {0o700, 0o755}, "group": {0o750, 0o755}, "open": {0o755, 0o755}, "private": {0o700, 0o700}} {
		known[name] = true
		w.must(os.Chmod(filepath.Join(w.from, name), mode[0]))
		w.must(os.Mkdir(filepath.Join(w.to, name), 0o700))
		w.must(os.Chmod(filepath.Join(w.to, name), mode[1]))
	}
	w.take(known, How{Copy: true})
	for name, want := range map[string]os.FileMode{
		"closed": 0o755, "closed/key": 0o600, "closed/made": 0o700, "closed/made/inner": 0o755, "closed/made/inner/key": 0o644,
		"group": 0o755, "group/key": 0o640, "open/key": 0o644, "private/key": 0o644,
	} {
		if is, err := os.Lstat(filepath.Join(w.to, name)); err != nil || is.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, is, err, want)
		}
	}
}
