//go:build windows || darwin

package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/seed"
	snapshottree "github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// watching watches a new directory with these below it.
func watching(t *testing.T, dirs ...string) (root string, w *Watcher) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, dir := range dirs {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	if misnames() {
		was := proof
		proof = func() error { return nil }
		t.Cleanup(func() { proof = was })
	}
	w, err = New(root)
	if errors.Is(err, ErrUnable) {
		t.Skipf("SKIPPED: %v", err)
	}
	must(t, err)
	t.Cleanup(w.Close)
	for _, dir := range append([]string{""}, dirs...) {
		add(t, root, w, dir)
	}
	take(t, w)
	return root, w
}

// add adds a directory as it is done after a scan, which has opened it: Wine tells of what
// lies below for no other one.
func add(t *testing.T, root string, w *Watcher, dir string) {
	t.Helper()
	_, _ = os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
	must(t, w.Add(dir))
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

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// On this very system, with its own temporary directory.
func TestTheSystemTellsInTime(t *testing.T) {
	temporary := t.TempDir()
	for _, name := range []string{"TMP", "TMPDIR"} {
		t.Setenv(name, temporary)
	}
	defer func() {
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}()
	for range 5 {
		err := prove()
		if misnames() {
			if err == nil || !strings.Contains(err.Error(), "below a directory that was renamed") {
				t.Errorf("a system that tells by old names is believed: %v", err)
			}
			continue
		}
		must(t, err)
	}
}

func TestWhateverIsDoneIsTold(t *testing.T) {
	root, w := watching(t, "a", "a/b", "d e")
	at := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
	for _, deed := range []struct {
		what string
		dir  string
		do   func() error
	}{
		{"a file is made", "a/b", func() error { return os.WriteFile(at("a/b/f"), []byte("1"), 0o644) }},
		{"it is written", "a/b", func() error { return os.WriteFile(at("a/b/f"), []byte("2"), 0o644) }},
		{"it becomes read-only", "a/b", func() error { return os.Chmod(at("a/b/f"), 0o444) }},
		{"it can be written again", "a/b", func() error { return os.Chmod(at("a/b/f"), 0o644) }},
		{"its time is set", "a/b", func() error { return os.Chtimes(at("a/b/f"), past, past) }},
		{"it has another name", "a", func() error { return os.Link(at("a/b/f"), at("a/g")) }},
		{"it is renamed", "a/b", func() error { return os.Rename(at("a/b/f"), at("a/b/F2")) }},
		{"in case alone", "a/b", func() error { return os.Rename(at("a/b/F2"), at("a/b/f2")) }},
		{"it is moved", "d e", func() error { return os.Rename(at("a/b/f2"), at("d e/ü")) }},
		{"it is deleted", "d e", func() error { return os.Remove(at("d e/ü")) }},
		{"a directory is made", "d e", func() error { return os.Mkdir(at("d e/x"), 0o755) }},
		{"it is removed", "d e", func() error { return os.Remove(at("d e/x")) }},
		{"a directory is renamed", "a", func() error { return os.Rename(at("a/b"), at("a/c")) }},
	} {
		if misnames() && (deed.what == "a directory is renamed" || deed.what == "in case alone") {
			continue // Wine does not do the latter
		}
		take(t, w)
		must(t, deed.do())
		if got := take(t, w); !got.Has(deed.dir, "") {
			t.Errorf("%s: only %+v is told", deed.what, got)
		}
	}
}

var past = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// A state is what is at each path.
type state map[string]string

func stateOf(t *testing.T, root string) state {
	t.Helper()
	out := state{}
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if rel = filepath.ToSlash(rel); e.IsDir() {
			out[rel] = "a directory"
			return nil
		}
		text, err := os.ReadFile(path)
		out[rel] = string(text)
		return err
	}))
	return out
}

// differs are the paths that are not in both alike.
func (s state) differs(other state) (paths []string) {
	for path, what := range s {
		if other[path] != what {
			paths = append(paths, path)
		}
	}
	for path := range other {
		if _, had := s[path]; !had {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestWhatDiffersWasTold does random things and compares the state before and after: in
// each directory that was added, and where something differs, that was told. Directories
// are added as a scan that follows would do it. REWIND_SEED repeats it.
func TestWhatDiffersWasTold(t *testing.T) {
	for i := range uint64(seed.Times(5)) {
		seed := seed.Of(t) + i
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 31))
			root, w := watching(t)
			before, seen := state{}, 0
			for range 60 {
				var done []string
				for range r.IntN(6) {
					done = append(done, deed(r, root))
				}
				told, now := take(t, w), stateOf(t, root)
				for _, path := range before.differs(now) {
					dir := snapshottree.Parent(path)
					if before[dir] == "" && dir != "" {
						continue // it was not there: what it lies in is told
					}
					if seen++; !told.Has(dir, strings.TrimPrefix(path[len(dir):], "/")) && !told.Has(dir, "") {
						t.Fatalf("%q differs after %q, and only %+v is told", path, done, told)
					}
				}
				for path, what := range before {
					if now[path] != what {
						w.Remove(path)
					}
				}
				for path, what := range now {
					if what == "a directory" && !w.Watches(path) {
						add(t, root, w, path)
					}
				}
				before = now
			}
			if seen < 25 {
				t.Errorf("only %d differences: the test says little", seen)
			}
		})
	}
}

// deed does something at random; what cannot be done is not done.
func deed(r *rand.Rand, root string) string {
	name := func() string {
		parts := []string{"a", "b", "Long name of it", "longnameofit.text", "ü", "C"}
		path := parts[r.IntN(len(parts))]
		for range r.IntN(3) {
			path += "/" + parts[r.IntN(len(parts))]
		}
		return path
	}
	a, b := name(), name()
	at, to := filepath.Join(root, a), filepath.Join(root, b)
	switch kind := r.IntN(8); kind {
	case 0, 1:
		os.MkdirAll(at, 0o755)
		return "mkdir " + a
	case 2, 3, 4:
		os.WriteFile(at, []byte(fmt.Sprint(r.Uint32())), 0o644)
		return "write " + a
	case 5, 6:
		if st, err := os.Stat(at); err == nil && st.IsDir() && misnames() {
			return ""
		}
		os.Rename(at, to)
		return "rename " + a + " " + b
	default:
		os.RemoveAll(at)
		return "remove " + a
	}
}

func TestDoubtEndsTheWatching(t *testing.T) {
	ctx := context.Background()
	root, w := watching(t, "a")
	if err := os.Rename(root, root+"2"); err != nil {
		t.Logf("a directory that is watched cannot be renamed: %v", err)
	} else if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) {
		t.Errorf("the worktree was moved: %v", err)
	}
	if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) {
		t.Errorf("once in doubt, always: %v", err)
	}
	for _, another := range []bool{false, true} {
		root, w = watching(t, "a")
		must(t, os.RemoveAll(root))
		if _, err := os.Lstat(root); err == nil {
			t.Log("SKIPPED: what is watched is not deleted before the watching ends")
			break
		}
		if another {
			must(t, os.Mkdir(root, 0o755))
		}
		if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) {
			t.Errorf("the worktree was deleted, and another made: %v: %v", another, err)
		}
	}
	_, w = watching(t)
	w.Close()
	if _, err := w.Take(ctx); !errors.Is(err, ErrDoubt) {
		t.Errorf("closed: %v", err)
	}
	w.Close()
}

// Who reads what the system tells comes behind then.
func TestTheLastOfManyChangesIsTold(t *testing.T) {
	root, w := watching(t, "a", "b")
	for i := range 40 {
		for k := range 100 {
			write(t, filepath.Join(root, "a", fmt.Sprint(k)), "1")
		}
		write(t, filepath.Join(root, "b", "f"), "1")
		if got := take(t, w); !got.Has("b", "f") {
			t.Fatalf("in round %d: only %+v is told", i, got)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	w, err := New(b.TempDir())
	if err != nil {
		b.Skip("SKIPPED: ", err)
	}
	defer w.Close()
	for b.Loop() {
		if _, err := w.Take(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestATurnThatHasEndedLosesNothing(t *testing.T) {
	root, w := watching(t, "a")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	write(t, filepath.Join(root, "a", "f"), "1")
	for range 3 {
		if _, err := w.Take(ended); err == nil { // it may be answered sooner than it sees the end
			t.Skip("SKIPPED: the system answered at once")
		}
	}
	if got := take(t, w); !got.Has("a", "") {
		t.Errorf("only %+v is told", got)
	}
}
