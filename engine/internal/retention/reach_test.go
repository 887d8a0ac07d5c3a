package retention

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A forest is trees by id.
type forest map[oid.ID][]byte

func (f forest) plant(entries ...tree.Entry) oid.ID {
	p := tree.Encode(entries, oid.BLAKE3)
	id := oid.BLAKE3.Sum(oid.Tree, p)
	f[id] = p
	return id
}

func (f forest) load(id oid.ID, _ ...oid.ID) ([]byte, error) {
	if p, ok := f[id]; ok {
		return p, nil
	}
	return nil, errors.New("it is not here")
}

func blob(text string) oid.ID { return oid.BLAKE3.Sum(oid.Blob, []byte(text)) }

// visited collects what a walk yields, and the objects that came with an error.
func visited(w *Walk, s *records.Snapshot) (paths map[oid.ID]string, failed []oid.ID) {
	paths = map[oid.ID]string{}
	for o, err := range w.Snapshot(s) {
		if err != nil {
			failed = append(failed, o.ID)
			continue
		}
		paths[o.ID] = o.Path
	}
	return paths, failed
}

func TestAWalkMeetsEachObjectOnce(t *testing.T) {
	f := forest{}
	below := f.plant(tree.Entry{Name: "file", Mode: tree.GitFile, ID: blob("one")})
	first := &records.Snapshot{
		ID: blob("commit"), Tree: f.plant(tree.Entry{Name: "d", Mode: tree.GitDir, ID: below}),
		Rules: records.Rules{Ignore: []oid.ID{blob("rules")}}, SkippedIn: blob("skipped"),
		Nested: []records.NestedAt{{Path: "n", Exclude: blob("exclude")}},
	}
	w := &Walk{Algorithm: oid.BLAKE3, Load: f.load}
	got, failed := visited(w, first)
	want := map[oid.ID]string{
		first.ID: "", blob("rules"): "", blob("skipped"): "", blob("exclude"): "",
		first.Tree: "", below: "d", blob("one"): "d/file",
	}
	if len(failed) > 0 || len(got) != len(want) {
		t.Fatalf("%v, failed %v", got, failed)
	}
	for id, path := range want {
		if at, ok := got[id]; !ok || at != path {
			t.Errorf("%v is at %q, not %q", id, at, path)
		}
	}
	second := &records.Snapshot{ID: blob("another"), Tree: first.Tree, Overlay: below}
	if got, _ := visited(w, second); len(got) != 3 { // its commit, and as an overlay what was a git tree
		t.Errorf("the second snapshot adds %v", got)
	}
	w.seen = nil
	if got, _ := visited(w, second); len(got) != 4 {
		t.Errorf("a walk anew meets %v", got)
	}
}

func TestAMissingTreeIsYieldedWithItsErrorUnlessItWasPromised(t *testing.T) {
	f, gone := forest{}, blob("gone")
	s := &records.Snapshot{ID: blob("commit"), Tree: f.plant(tree.Entry{Name: "d", Mode: tree.GitDir, ID: gone})}
	w := &Walk{Algorithm: oid.BLAKE3, Load: f.load}
	if _, failed := visited(w, s); len(failed) != 1 || failed[0] != gone {
		t.Errorf("failed: %v", failed)
	}
	w.seen = nil
	w.Promised = func(*records.Snapshot, tree.Loader) func(oid.ID) bool {
		return func(id oid.ID) bool { return id == gone }
	}
	for range 2 { // it is visited again, with the tree around it
		got, failed := visited(w, s)
		if _, met := got[gone]; len(failed) > 0 || !met {
			t.Errorf("met %v, failed %v", got, failed)
		}
	}
}

func (f forest) keep(p []byte) (oid.ID, error) {
	id := oid.BLAKE3.Sum(oid.Tree, p)
	f[id] = p
	return id, nil
}

// paths are selected paths.
type paths []string

func (p paths) Match(path string) bool { return slices.Contains(p, path) }

func (p paths) Below(dir string) bool {
	return dir == "" || slices.ContainsFunc(p, func(path string) bool { return strings.HasPrefix(path, dir+"/") })
}

func file(name, text string) tree.Entry {
	return tree.Entry{Name: name, Mode: tree.GitFile, ID: blob(text)}
}

func dir(name string, id oid.ID) tree.Entry {
	return tree.Entry{Name: name, Mode: tree.GitDir, ID: id}
}

func TestACutLeavesTheRestAndNamesWhatWent(t *testing.T) {
	f := forest{}
	s := &records.Snapshot{
		ID:      blob("commit"),
		Tree:    f.plant(dir("a", f.plant(file("secret", "one"))), dir("b", f.plant(file("kept", "two"), file("secret", "three")))),
		Overlay: f.plant(dir("a", f.plant(file("secret", "raw")))),
		Skipped: []records.Note{{Path: "x", Reason: "a socket"}},
	}
	e := &Editor{Algorithm: oid.BLAKE3, Selection: paths{"a/secret", "b/secret"}, Trees: f.load, Put: f.keep, Contents: map[oid.ID]bool{}}
	c, err := e.Cut(s)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	if want := f.plant(dir("b", f.plant(file("kept", "two")))); c.Tree != want { // git has no empty directory
		t.Errorf("the tree is %x", f[c.Tree])
	}
	if want := f.plant(dir("a", oid.BLAKE3.Sum(oid.Tree, nil))); c.Overlay != want { // the overlay has
		t.Errorf("the overlay is %x", f[c.Overlay])
	}
	if !slices.Equal(c.Paths, []string{"a/secret", "b/secret"}) {
		t.Errorf("%q went", c.Paths)
	}
	if want := map[oid.ID]bool{blob("one"): true, blob("three"): true, blob("raw"): true}; !maps.Equal(e.Contents, want) {
		t.Errorf("contents: %v", e.Contents)
	}
	n := c.Apply(s, Purged)
	if len(n.Skipped) != 3 || n.Skipped[1] != (records.Note{Path: "a/secret", Reason: Purged}) || len(s.Skipped) != 1 {
		t.Errorf("skipped: %v, before %v", n.Skipped, s.Skipped)
	}
}

func TestWhatHasNoneOfThePathsIsNotCut(t *testing.T) {
	f := forest{}
	s := &records.Snapshot{Tree: f.plant(file("kept", "two"), dir("sub", blob("a tree that nobody may ask for")))}
	e := &Editor{Algorithm: oid.BLAKE3, Selection: paths{"other/secret"}, Trees: f.load, Put: f.keep}
	if c, err := e.Cut(s); c != nil || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestADamagedTreeIsNamedAndNotCut(t *testing.T) {
	f := forest{}
	damaged, _ := f.keep([]byte("no tree"))
	e := &Editor{Algorithm: oid.BLAKE3, Selection: paths{"secret"}, Trees: f.load, Put: f.keep, Contents: map[oid.ID]bool{}}
	if c, err := e.Cut(&records.Snapshot{Tree: damaged}); c != nil || !errors.Is(err, records.ErrDamaged) {
		t.Errorf("%+v, %v", c, err)
	}
}

// A budget is a context that ends after it was asked so many times.
type budget struct {
	context.Context
	left int
}

func (b *budget) Err() error {
	if b.left--; b.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A home is a user's directory with sessions of an agent, and an empty store.
type home struct {
	t   *testing.T
	dir string
}

// newHome makes one, and who keeps its store.
func newHome(t *testing.T) (*home, *Keeper) {
	t.Helper()
	h := &home{t, t.TempDir()}
	store, err := cas.Open(t.Context(), filepath.Join(h.dir, "store.db"), &cas.Options{Algorithm: oid.BLAKE3, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	owner := &records.Owner{Key: ".", Root: records.Path(h.dir), Now: time.Now}
	return h, &Keeper{Now: time.Now, Sessions: &Sessions{
		View: func(ctx context.Context, f func(*records.View) error) error {
			return store.View(ctx, func(v *cas.View) error { return f(records.In(v, owner)) })
		},
		Getenv: func(string) string { return "" }, Home: h.dir, Root: h.dir,
		MayBeOurs: func(string, []string) bool { return true },
	}}
}

// session writes the file of a session of one message.
func (h *home) session(id, text string) {
	h.t.Helper()
	head := map[string]any{"type": "session", "version": 3, "id": id, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": h.dir}
	entry := map[string]any{
		"type": "message", "id": "00000001", "parentId": nil, "timestamp": "2026-01-02T03:04:05.000Z",
		"message": map[string]any{"role": "user", "content": text},
	}
	path := filepath.Join(h.dir, ".pi", "agent", "sessions", "--w--", id+".jsonl")
	one, err := json.Marshal(head)
	two, other := json.Marshal(entry)
	lines := append(append(append(one, 10), two...), 10)
	if err := errors.Join(err, other, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, lines, 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

func TestTheBudgetOfAPruneHoldsWithinOneFile(t *testing.T) {
	h, k := newHome(t)
	h.session("s", strings.Repeat("long ", 6<<20))
	for _, asked := range []int{3, 60} { // a walk asks some ten times, and each 256 KiB of the 30 MiB once
		if _, err := k.look(&budget{context.Background(), asked}, &Options{}); !errors.Is(err, ErrUnseen) {
			t.Errorf("%d: %v", asked, err)
		}
	}
	if _, err := k.look(&budget{context.Background(), 1000}, &Options{}); err != nil {
		t.Error(err)
	}
}
