package retention

import (
	"errors"
	"testing"

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

func (f forest) load(id oid.ID) ([]byte, error) {
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
	if got, _ := visited(w.Anew(), second); len(got) != 4 {
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
	w = w.Anew()
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
