//go:build windows || darwin

package watch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/internal/watch"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A world is a worktree without git that is watched.
type world struct {
	t     *testing.T
	dir   string
	watch string // what rewind.watch says
	tree  *engine.Watch
}

func newWorld(t *testing.T, setting string) *world {
	if watch.Misnames() {
		watch.Believe(t)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(base, "w"), watch: setting, tree: &engine.Watch{}}
	for _, dir := range []string{w.dir, filepath.Join(base, "home")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { w.tree.Close() })
	return w
}

func (w *world) env(name string) string {
	home := filepath.Join(filepath.Dir(w.dir), "home")
	return map[string]string{"HOME": home, "USERPROFILE": home, "LOCALAPPDATA": home, "APPDATA": home, "REWIND_WATCH": w.watch, "REWIND_FORCE": "true"}[name]
}

// snapshot takes one; dry: by a look at everything, and keeps nothing.
func (w *world) snapshot(dry bool) *engine.Recorded {
	w.t.Helper()
	open := w.tree.Open
	if dry {
		open = engine.Open
	}
	e, err := open(w.t.Context(), w.dir, &engine.Options{Getenv: w.env})
	if err != nil {
		w.t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Snapshot(w.t.Context(), &engine.SnapshotOptions{DryRun: dry})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// arm takes snapshots until the next one is of what changed alone, and says why if that
// will not be.
func (w *world) arm() (why string) {
	w.t.Helper()
	for range 500 {
		w.snapshot(false)
		ok, why := w.tree.State()
		if ok {
			return ""
		}
		if w.tree.Hopeless() {
			return why
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, why = w.tree.State()
	w.t.Fatalf("it is not watched: %s", why)
	return why
}

// TestAWatchedSnapshotIsAFullOneHere does random things, and compares each snapshot with
// what a look at everything finds. REWIND_SEED repeats it.
func TestAWatchedSnapshotIsAFullOneHere(t *testing.T) {
	first := seed.Of(t)
	for i := range uint64(seed.Times(4)) {
		t.Run(fmt.Sprint("seed ", first+i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(first+i, 32))
			w := newWorld(t, "true")
			for range 20 {
				watch.Deed(r, w.dir)
			}
			if why := w.arm(); why != "" {
				t.Skipf("SKIPPED: nothing can be watched here: %s", why)
			}
			watched := 0
			for turn := range 12 {
				var done []string
				for range r.IntN(5) {
					done = append(done, watch.Deed(r, w.dir))
				}
				if turn%4 == 3 {
					time.Sleep(2100 * time.Millisecond) // until no file is read again for its youth
				}
				only, _ := w.tree.State()
				got, want := w.snapshot(false), w.snapshot(true)
				if got.Tree != want.Tree || got.Overlay != want.Overlay || !slices.Equal(got.Skipped, want.Skipped) {
					t.Fatalf("watched %v: %v %v\nall: %v %v\nafter %q", only, got.Tree, got.Skipped, want.Tree, want.Skipped, done)
				}
				if only {
					watched++
				}
			}
			if watched < 6 {
				t.Errorf("only %d of 12 snapshots were of what changed alone: the test says little", watched)
			}
		})
	}
}

func TestWhereWritesAreToldLateNothingIsWatchedUnasked(t *testing.T) {
	w := newWorld(t, "auto")
	w.tree.Any = true
	w.put("f", "1")
	w.snapshot(false)
	if watched, why := w.tree.State(); watched || !strings.Contains(why, "rewind.watch = true") {
		t.Errorf("watched %v: %q", watched, why)
	}
	w.watch = "true" // which counts from the next turn on
	if why := w.arm(); why != "" {
		t.Skipf("SKIPPED: nothing can be watched here: %s", why)
	}
}

// Nobody tells of it before the file is closed, but the audit looks.
func TestWhatIsWrittenToAFileThatStaysOpenIsSeenAfterTheAudit(t *testing.T) {
	w := newWorld(t, "true")
	f := w.put("f", "1")
	defer f.Close()
	if why := w.arm(); why != "" {
		t.Skipf("SKIPPED: nothing can be watched here: %s", why)
	}
	for round := range 2 {
		time.Sleep(2100 * time.Millisecond) // until it is not read again for its youth
		w.snapshot(false)
		if _, err := f.WriteString("more"); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); ; time.Sleep(300 * time.Millisecond) {
			if w.snapshot(false).Tree == w.snapshot(true).Tree {
				break
			}
			if round > 0 || time.Since(begun) > 30*time.Second {
				t.Fatalf("in round %d it is not seen", round)
			}
		}
		if watched, why := w.tree.State(); !watched {
			t.Errorf("it is not watched any more: %s", why)
		}
	}
}

// put makes a file, and leaves it open.
func (w *world) put(name, text string) *os.File {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.dir, name))
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { f.Close() })
	return f
}
