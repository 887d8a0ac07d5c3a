//go:build linux

package watched_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/watched"
)

// A world is a worktree that a random hand changes.
type world struct {
	t       *testing.T
	r       *rand.Rand
	ctx     context.Context
	base    string
	dir     string
	git     bool
	tree    *watched.Tree
	done    []string
	watched int // comparisons in which only candidates were looked at
}

// TestAWatchedSnapshotIsAFullOne does random things to worktrees that are watched,
// and compares each snapshot with what a look at everything finds. The number of
// sequences comes from REWIND_SEQUENCES, the seed of one from REWIND_SEED.
func TestAWatchedSnapshotIsAFullOne(t *testing.T) {
	sequences, given := 25, os.Getenv("REWIND_SEQUENCES")
	if n, err := strconv.Atoi(given); err == nil {
		sequences = n
	} else if testing.Short() {
		sequences = 4
	}
	compared, seen := 0, 0
	for range sequences {
		seed := rand.Uint64()
		if n, err := strconv.ParseUint(os.Getenv("REWIND_SEED"), 10, 64); err == nil {
			seed = n
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 8 {
				w.turn()
				compared++
			}
			seen += w.watched
		})
		if t.Failed() {
			break
		}
	}
	t.Logf("%d snapshots, %d of them of candidates alone", compared, seen)
	if !t.Failed() && seen*2 < compared {
		t.Errorf("only %d of %d snapshots were of candidates alone: the test says little", seen, compared)
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 11)), ctx: context.Background(), base: t.TempDir(), tree: &watched.Tree{}}
	w.dir = filepath.Join(w.base, "w")
	for _, dir := range []string{"w", "home", "outside"} {
		w.must(os.Mkdir(filepath.Join(w.base, dir), 0o777))
	}
	w.must(os.Chmod(w.base, 0o755))
	if w.git = w.r.IntN(4) > 0; w.git {
		w.run("git", "init", "-q")
		w.run("git", "config", "user.name", "a")
		w.run("git", "config", "user.email", "a@b")
	}
	t.Cleanup(func() {
		w.tree.Close()
		w.unmount()
	})
	for range 25 {
		w.step()
	}
	w.arm()
	return w
}

// arm takes snapshots until the next one is of candidates alone.
func (w *world) arm() {
	w.t.Helper()
	for range 1000 {
		w.snapshot()
		if ok, why := w.tree.State(); ok {
			return
		} else if strings.Contains(why, watchedError) {
			w.t.Skipf("SKIPPED: nothing can be watched here: %s", why)
		}
		time.Sleep(time.Millisecond)
	}
	_, why := w.tree.State()
	w.t.Fatalf("it is not watched: %s", why)
}

var old = time.Date(2020, 1, 1, 0, 0, 0, 1, time.UTC)

const watchedError = "not possible"

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) env(name string) string {
	return map[string]string{"HOME": filepath.Join(w.base, "home"), "REWIND_WATCH": "true", "REWIND_FORCE": "true"}[name]
}

// run runs a program in the worktree; that it fails is no matter.
func (w *world) run(args ...string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+w.env("HOME"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	_ = cmd.Run()
}

func (w *world) engine(tree *watched.Tree) *engine.Engine {
	e, err := engine.Open(w.ctx, w.dir, &engine.Options{Getenv: w.env, Watch: tree})
	w.must(err)
	return e
}

func (w *world) snapshot() *engine.Recorded {
	w.t.Helper()
	e := w.engine(w.tree)
	defer e.Close()
	r, err := e.Snapshot(w.ctx, nil)
	w.must(err)
	return r
}

// turn does some things, takes a snapshot, and compares it.
func (w *world) turn() {
	w.done = w.done[:0]
	for range w.r.IntN(5) {
		w.step()
	}
	only, _ := w.tree.State()
	got := w.snapshot()
	e := w.engine(nil)
	defer e.Close()
	want, err := e.Preview(w.ctx)
	w.must(err)
	if got.Tree != want.Tree || got.Overlay != want.Overlay || !slices.Equal(got.Skipped, want.Skipped) || !slices.Equal(got.Nested, want.Nested) {
		d, _ := e.Diff(w.ctx, got.Snapshot, nil, nil)
		var paths []string
		if d != nil {
			for _, c := range d.Changes {
				paths = append(paths, string(c.Path))
			}
		}
		w.t.Fatalf("watched %v: %v %v %v %v\nall: %v %v %v %v\nafter %q\nwhat differs: %q", only, got.Tree, got.Overlay, got.Skipped, got.Nested,
			want.Tree, want.Overlay, want.Skipped, want.Nested, w.done, paths)
	}
	if only {
		w.watched++
	}
}

func (w *world) name() string {
	parts := []string{"a", "b.o", "c.txt", "d", "e", "out", "d", "e"}
	rel := parts[w.r.IntN(len(parts))]
	for w.r.IntN(3) > 0 && strings.Count(rel, "/") < 3 {
		rel = parts[3+w.r.IntN(5)] + "/" + rel
	}
	return rel
}

// step does something; what cannot be done is not done.
func (w *world) step() {
	rel, other := w.name(), w.name()
	path, to := filepath.Join(w.dir, rel), filepath.Join(w.dir, other)
	kind := w.r.IntN(len(deeds))
	for w.r.IntN(3) == 0 { // what people do most
		kind = w.r.IntN(6)
	}
	w.done = append(w.done, fmt.Sprintf("%d %s %s", kind, rel, other))
	deeds[kind](w, path, to)
}

func (w *world) text() []byte { return []byte(fmt.Sprint(w.r.IntN(4), "\r\n")) }

// deeds are what can happen to a worktree.
var deeds = []func(w *world, path, to string){
	func(w *world, path, _ string) {
		os.MkdirAll(filepath.Dir(path), 0o777)
		os.WriteFile(path, w.text(), 0o644)
	},
	func(w *world, path, _ string) { os.WriteFile(path, w.text(), 0o644) },
	func(w *world, path, to string) { os.Rename(path, to) },
	func(w *world, path, to string) { os.Rename(w.above(path), w.above(to)) },
	func(w *world, path, _ string) { os.RemoveAll(path) },
	func(w *world, path, _ string) { os.MkdirAll(path, 0o777) },
	func(w *world, path, _ string) { os.Chmod(path, os.FileMode(0o700|w.r.IntN(0o100))) },
	func(w *world, path, to string) { os.Symlink(to, path) },
	func(w *world, path, to string) { os.Link(path, to) },
	func(w *world, path, _ string) { w.throughOtherName(path) },
	func(w *world, path, _ string) { w.mapped(path) },
	func(w *world, path, _ string) { os.Rename(w.above(path), filepath.Join(w.base, "outside", w.out())) },
	func(w *world, path, _ string) { os.Rename(filepath.Join(w.base, "outside", w.out()), path) },
	func(w *world, path, _ string) {
		w.rules(path, ".gitignore", []string{"*.o\n", "out\n", "d/*\n!d/e\n", ""}[w.r.IntN(4)])
	},
	func(w *world, path, _ string) {
		w.rules(path, ".gitattributes", []string{"* text\n", "*.txt -text\n", ""}[w.r.IntN(3)])
	},
	func(w *world, path, _ string) { w.run("git", "add", "-f", path) },
	func(w *world, path, _ string) { w.run("git", "add", "-A") },
	func(w *world, _, _ string) { w.run("git", "commit", "-qam", "x") },
	func(w *world, _, _ string) { w.run("git", "stash", "-q") },
	func(w *world, _, _ string) { w.run("git", "checkout", "-qf", "HEAD~1") },
	func(w *world, path, _ string) { w.run("git", "rm", "-rq", "--cached", path) },
	func(w *world, path, _ string) { w.run("git", "init", "-q", path) },
	func(w *world, path, _ string) { w.run("git", "-C", path, "commit", "-qm", "x", "--allow-empty") },
	func(w *world, path, _ string) { w.asNobody(path) },
	func(w *world, path, to string) { w.mount(path, to) },
	func(w *world, _, _ string) { w.unmount() },
	func(w *world, _, _ string) { w.tree.Doubt() },
	func(w *world, _, _ string) { w.restart() },
	func(w *world, path, to string) { w.storm(path, to) },
	func(w *world, path, to string) { w.swap(path, to) },
	func(w *world, path, _ string) { w.sameStat(path) },
}

// above is the directory of a path, or the path where that is the worktree.
func (w *world) above(path string) string {
	if dir := filepath.Dir(path); dir != w.dir {
		return dir
	}
	return path
}

func (w *world) out() string { return []string{"p", "q"}[w.r.IntN(2)] }

func (w *world) rules(path, name, text string) {
	os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o644)
}

// throughOtherName writes a file through a name of it outside of the worktree.
func (w *world) throughOtherName(path string) {
	name := filepath.Join(w.base, "outside", "link")
	if w.r.IntN(2) == 0 {
		os.Remove(name)
		os.Link(path, name)
		return
	}
	if f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		f.Write(w.text())
		f.Close()
	}
}

// mapped writes a file through memory.
func (w *world) mapped(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	if st, err := f.Stat(); err == nil && st.Size() > 0 {
		page[0] = byte('0' + w.r.IntN(4))
	}
	unix.Munmap(page)
}

// asNobody lets another user write.
func (w *world) asNobody(path string) {
	os.Chmod(path, 0o777)
	cmd := exec.Command("sh", "-c", `echo nobody >>"$0"; mkdir -p "$0/n"; mv "$0" "$0.moved"`, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	_ = cmd.Run()
}

func (w *world) mount(path, to string) {
	_ = unix.Mount(path, to, "", unix.MS_BIND, "")
}

// unmount unmounts what was mounted in the world, wherever it was moved since.
func (w *world) unmount() {
	table, err := os.ReadFile("/proc/self/mountinfo")
	w.must(err)
	lines := strings.Split(string(table), "\n")
	slices.Reverse(lines) // what was mounted last lies on top
	for _, line := range lines {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], w.base+"/") {
			unix.Unmount(fields[4], unix.MNT_DETACH)
		}
	}
}

// restart is another process from here on; the first may have been killed.
func (w *world) restart() {
	if old := w.tree; w.r.IntN(2) == 0 {
		w.t.Cleanup(old.Close)
	} else {
		old.Close()
	}
	w.tree = &watched.Tree{}
	w.snapshot()
}

// storm changes things while a snapshot is taken.
func (w *world) storm(path, to string) {
	stop := make(chan struct{})
	ended := make(chan struct{})
	r := rand.New(rand.NewPCG(w.r.Uint64(), 3))
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.MkdirAll(filepath.Join(path, "s", fmt.Sprint(i%3)), 0o777)
			os.WriteFile(filepath.Join(path, "s", fmt.Sprint(r.IntN(3)), "f"), []byte(fmt.Sprint(i)), 0o644)
			os.Rename(path, to)
			os.Rename(filepath.Join(to, "s/1"), filepath.Join(to, "s/t"))
			os.RemoveAll(filepath.Join(to, "s/t"))
			path, to = to, path
		}
	}()
	for range 2 {
		w.snapshot()
	}
	close(stop)
	<-ended
}

// swap exchanges two paths.
func (w *world) swap(path, to string) {
	_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
}

// sameStat writes as many bytes, and puts the time back.
func (w *world) sameStat(path string) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return
	}
	os.WriteFile(path, []byte(strings.Repeat("z", int(st.Size()))), 0o644)
	os.Chtimes(path, st.ModTime(), st.ModTime())
}
