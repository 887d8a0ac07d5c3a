package capture

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/rules"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// newPlace makes a worktree without git, and its store.
func newPlace(t *testing.T, files map[string]string) (Place, *cas.Store) {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "w")
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := cas.Open(t.Context(), filepath.Join(base, "store.db"), &cas.Options{Algorithm: oid.BLAKE3, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return Place{
		Root: root, StatTable: filepath.Join(base, "stat.db"), Store: base,
		Rules:   &rules.Source{Root: root, Env: func(string) string { return "" }},
		Objects: &objects.Objects{Algorithm: oid.BLAKE3, Store: func(context.Context) (*cas.Store, error) { return s, nil }},
	}, s
}

var never = How{Umask: 022, Bound: func(string, oid.ID) bool { return false }}

func TestALookKeepsNothingAndAStageAllThatItNames(t *testing.T) {
	ctx := context.Background()
	p, store := newPlace(t, map[string]string{"a": "one", "d/b": "two", "ignored": "three", ".gitignore": "ignored\n"})
	content := p.Objects.Algorithm.Sum(oid.Blob, []byte("two"))
	seen, err := Open(p).Look(ctx, never)
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	if p.Objects.Has(ctx, content) || p.Objects.Has(ctx, seen.State.Tree) {
		t.Error("a look kept something")
	}
	if payload, err := seen.Trees(seen.State.Tree); err != nil || len(payload) == 0 {
		t.Errorf("what was seen cannot be read: %v", err)
	}
	staged, err := Open(p).Stage(ctx, never, store.Stage())
	if err != nil {
		t.Fatal(err)
	}
	if staged.State != seen.State || !staged.Rechecked {
		t.Errorf("a look saw %v, a stage %v", seen.State, staged.State)
	}
	if err := staged.Stage.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	staged.Discard()
	staged.Discard() // does nothing
	if !p.Objects.Has(ctx, content) || !p.Objects.Has(ctx, staged.State.Tree) {
		t.Error("a committed stage lacks what it names")
	}
	if _, ok := staged.Memory.Tree(staged.State.Tree); !ok {
		t.Error("what is in memory did not outlive the capture")
	}
	if p.Objects.Has(ctx, p.Objects.Algorithm.Sum(oid.Blob, []byte("three"))) {
		t.Error("an ignored file was kept")
	}
}

func TestASnapshotIsTheSameOnlyUnderTheSameRules(t *testing.T) {
	p, _ := newPlace(t, map[string]string{"a": "one"})
	seen, err := Open(p).Look(context.Background(), never)
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	snap := records.Snapshot{Tree: seen.State.Tree, Overlay: seen.State.Overlay, Umask: seen.State.Umask, Rules: seen.Rules}
	other, lost, skips := snap, snap, snap
	other.Rules.Fold = !other.Rules.Fold
	lost.Lost = "a reason"
	skips.Skipped = []records.Note{{Path: "x", Reason: "y"}}
	if !seen.Same(&snap) || seen.Same(&other) || seen.Same(&lost) || seen.Same(&skips) || seen.Same(nil) {
		t.Error("a snapshot is the same that is not, or the other way round")
	}
}

func TestAFirstCaptureWithoutGitKeepsNoContentsInMemory(t *testing.T) {
	p, _ := newPlace(t, map[string]string{"a": "one"})
	content := p.Objects.Algorithm.Sum(oid.Blob, []byte("one"))
	for _, c := range []struct {
		last *records.Snapshot
		kept bool
	}{{nil, false}, {&records.Snapshot{}, true}} {
		s, err := p.Objects.Store(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		how := never
		how.Last = c.last
		staged, err := Open(p).Stage(t.Context(), how, s.Stage())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := staged.Memory.Object(content); ok != c.kept {
			t.Errorf("the content is in memory: %v, after another capture: %v", ok, c.last != nil)
		}
		staged.Discard()
	}
}

// What the watcher tells after a scan it does not tell again: a file that changed behind
// the scan is then in no snapshot.
func TestAScanWithoutItsTableWaitsForTheWatcherToo(t *testing.T) {
	ctx := context.Background()
	p, _ := newPlace(t, map[string]string{"a": "one"})
	first, err := Open(p).Look(ctx, never)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if p.Table, err = first.Result.Keep("store", oid.ID{}); err != nil || p.Table == nil {
		t.Fatalf("no table: %v", err)
	}
	late := filepath.Join(p.Root, "late")
	p.Only = func() *worktree.Changes {
		if err := os.WriteFile(late, nil, 0o644); err != nil {
			t.Error(err)
		}
		return &worktree.Changes{}
	}
	seen, err := Open(p).Look(ctx, never)
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	if _, err := os.Lstat(late); err != nil || seen.State == first.State {
		t.Errorf("the scan began before the watcher's answer was there: %v", err)
	}
}

// A directory of a million names is a tree of 40 MB, and a turn may read many.
func TestTreesThatWereReadTakeBoundedMemory(t *testing.T) {
	m := newMemory(memoryBytes)
	load := m.reading(func(oid.ID, ...oid.ID) ([]byte, error) { return make([]byte, 1<<20), nil })
	kept := 0
	for i := range 3 * memoryBytesRead >> 20 {
		id := oid.SHA1.Sum(oid.Tree, []byte{byte(i)})
		for range 2 {
			if p, err := load(id); err != nil || len(p) != 1<<20 {
				t.Fatalf("%d bytes, %v", len(p), err)
			}
		}
		if _, ok := m.Met(id); ok {
			kept++
		}
	}
	if most := memoryBytesRead >> 20; kept == 0 || kept > most {
		t.Errorf("%d trees of 1 MiB are in memory, at most %d were expected", kept, most)
	}
}

func TestTheBytesOfATreeCountOnce(t *testing.T) {
	m := newMemory(memoryBytes)
	for range 2 {
		m.putTree(oid.SHA1.Sum(oid.Tree, []byte("a")), make([]byte, 100))
		m.putTree(oid.SHA1.Sum(oid.Tree, []byte("b")), make([]byte, 11))
	}
	if n := m.TreeBytes(); n != 111 {
		t.Errorf("%d bytes, want 111", n)
	}
}
