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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A world is a worktree that a random hand changes.
type world struct {
	t       *testing.T
	r       *rand.Rand
	ctx     context.Context
	base    string
	dir     string
	git     bool
	scans   *scans // not nil: nothing but scans, by a clock that believes every time
	tree    *engine.Watch
	held    []held // files that are mapped
	done    []string
	taken   []engine.ID
	written bool // something was written while files were restored

	compared int // with what a look at everything finds
	watched  int // of these, how often only what changed was looked at
	lent     int // turns that another process was lent
	back     int // ways back
}

// TestAWatchedSnapshotIsAFullOne does random things to worktrees that are watched,
// and compares each snapshot with what a look at everything finds. The seed of
// one sequence comes from REWIND_SEED.
func TestAWatchedSnapshotIsAFullOne(t *testing.T) { sequences(t, nil) }

// TestAWatchedScanIsAFullOne does the same to scans alone, by a clock by which no
// file is so young that it is read again in any case.
func TestAWatchedScanIsAFullOne(t *testing.T) { sequences(t, newScans) }

func sequences(t *testing.T, of func(*world) *scans) {
	t.Parallel() // they wait for clocks and for the kernel
	var compared, seen, lent, back atomic.Int64
	first := seed.Of(t)
	for i := range uint64(seed.Times(25)) {
		seed := first + i
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed, of)
			for range 8 {
				w.turn()
			}
			compared.Add(int64(w.compared))
			seen.Add(int64(w.watched))
			lent.Add(int64(w.lent))
			back.Add(int64(w.back))
			w.verify()
		})
	}
	t.Cleanup(func() {
		t.Logf("%d comparisons, %d of them of what changed alone; %d turns lent; %d ways back", compared.Load(), seen.Load(), lent.Load(), back.Load())
		if !t.Failed() && seen.Load()*2 < compared.Load() {
			t.Errorf("only %d of %d comparisons were of what changed alone: the test says little", seen.Load(), compared.Load())
		}
	})
}

func newWorld(t *testing.T, seed uint64, of func(*world) *scans) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 11)), ctx: context.Background(), base: t.TempDir(), tree: &engine.Watch{}}
	w.dir = filepath.Join(w.base, "w")
	for _, dir := range []string{"w", "home", "outside"} {
		w.must(os.Mkdir(filepath.Join(w.base, dir), 0o777))
	}
	w.must(os.Chmod(w.base, 0o755))
	if of != nil {
		w.scans = of(w)
	} else if w.git = w.r.IntN(4) > 0; w.git {
		w.run("git", "init", "-q")
		w.run("git", "config", "user.name", "a")
		w.run("git", "config", "user.email", "a@b")
	}
	t.Cleanup(func() {
		w.tree.Close()
		w.letGo()
		w.unmount()
	})
	for range 25 {
		w.step()
	}
	w.unmount() // where a file is mounted nothing is watched
	w.tree.Close()
	w.tree = &engine.Watch{}
	if w.scans == nil && w.r.IntN(3) == 0 {
		w.early()
	}
	w.arm()
	return w
}

// early asks, before anything is watched, what operations would do that replace ignored
// files: that looks at more than a snapshot does, at everything, and nobody records it. The
// files are old enough to be believed then.
func (w *world) early() {
	w.unmount()
	for range 2 {
		w.file("gen/a", fmt.Sprint("in an early snapshot ", w.r.Uint64()))
		w.file("q/x", fmt.Sprint(w.r.Uint64()))
		w.snapshot()
	}
	w.rules(filepath.Join(w.dir, "gen"), ".gitignore", "gen\n")
	w.file("gen/a", "ignored by now")
	w.tree.Close()
	w.tree = &engine.Watch{}
	w.snapshot() // the rows are in memory from here on
	w.file("q/x", "in no snapshot")
	time.Sleep(2500 * time.Millisecond)
	first := w.taken[w.r.IntN(len(w.taken)-1)]
	plan := func(e *engine.Engine) (*engine.Diff, error) { return e.Plan(w.ctx, engine.Op{To: first}) }
	if got, want := w.asked(w.engine(w.tree), plan), w.asked(w.engine(nil), plan); got != want {
		w.t.Fatalf("plan: %s\nall: %s\nafter %q", got, want, w.done)
	}
	if w.r.IntN(2) == 0 { // another process begins with the file
		w.tree.Close()
		w.tree = &engine.Watch{}
	}
	w.snapshot()
	w.compare()
	w.verify()
}

// verify reads back what was recorded: an id that nobody has the content of says nothing.
func (w *world) verify() {
	if w.scans != nil {
		return
	}
	e := w.engine(nil)
	defer e.Close()
	v, err := e.Verify(w.ctx)
	w.must(err)
	if len(v.Damaged) > 0 {
		w.t.Fatalf("it is not all there: %+v", v.Damaged)
	}
}

// arm takes snapshots until the next one is of what changed alone.
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

func (w *world) engine(tree *engine.Watch) *engine.Engine {
	open := engine.Open
	if tree != nil {
		open = tree.Open
	}
	e, err := open(w.ctx, w.dir, &engine.Options{Getenv: w.env})
	w.must(err)
	return e
}

// either is the engine of the program that watches, or of another one, to which that lends
// a turn. Who has that may be killed before it gives it back.
func (w *world) either() *engine.Engine {
	if w.r.IntN(2) == 0 {
		return w.engine(w.tree)
	}
	lend := func(ctx context.Context, root string) ([]byte, func([]byte), bool) {
		text, back, ok := w.tree.Lend(ctx, root)
		if !ok {
			return nil, nil, false
		}
		w.lent++
		killed := w.r.IntN(8) == 0
		return text, func(given []byte) {
			if killed {
				given = nil
			}
			back(given)
		}, true
	}
	e, err := engine.Open(w.ctx, w.dir, &engine.Options{Getenv: w.env, Lend: lend})
	w.must(err)
	return e
}

func (w *world) snapshot() *engine.Recorded {
	w.t.Helper()
	if w.scans != nil {
		return &engine.Recorded{Snapshot: w.scans.watched(&w.tree.Tree)}
	}
	return w.snapshotOf(w.engine(w.tree))
}

func (w *world) snapshotOf(e *engine.Engine) *engine.Recorded {
	w.t.Helper()
	defer e.Close()
	r, err := e.Snapshot(w.ctx, nil)
	w.must(err)
	w.remember(r.ID)
	return r
}

// turn does some things, and compares.
func (w *world) turn() {
	w.done = w.done[:0]
	for range w.r.IntN(5) {
		w.step()
	}
	w.store()
	if w.r.IntN(3) == 0 {
		w.audit()
	}
	if w.r.IntN(2) == 0 {
		w.goBack()
	}
	w.compare()
}

// compare compares a snapshot with what a look at everything finds.
func (w *world) compare() {
	w.t.Helper()
	only, _ := w.tree.State()
	var got *engine.Recorded
	if w.scans == nil {
		got = w.snapshotOf(w.either())
	} else {
		got = w.snapshot()
		if want := w.scans.full(); got.Tree != want.Tree || got.Overlay != want.Overlay || !slices.Equal(got.Skipped, want.Skipped) {
			w.t.Fatalf("watched %v: %+v\nall: %+v\nafter %q", only, got.Snapshot, want, w.done)
		}
		w.count(only)
		return
	}
	e := w.engine(nil)
	defer e.Close()
	want, err := e.Snapshot(w.ctx, &engine.SnapshotOptions{DryRun: true})
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
	w.count(only)
}

func (w *world) count(only bool) {
	w.compared++
	if only {
		w.watched++
	}
}
