package cas

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestAStagedObjectIsAtHandBeforeWhileAndAfterItIsCommitted(t *testing.T) {
	s, r := newStore(t), seeded(t)
	g := s.Stage()
	payloads := map[oid.ID][]byte{}
	for range 40 {
		p := text(r, 500)
		id, err := g.Put(t.Context(), oid.Tree, p, oid.ID{})
		if err != nil {
			t.Fatal(err)
		}
		payloads[id] = p
	}
	check := func(when string) {
		t.Helper()
		for id, want := range payloads {
			if kind, p, ok := g.Object(id); !ok || kind != oid.Tree || !bytes.Equal(p, want) {
				t.Errorf("%s: %v: %v, %d bytes, %v", when, id, kind, len(p), ok)
			}
		}
		if _, _, ok := g.Object(oid.ID{}); ok {
			t.Errorf("%s: an object without an id", when)
		}
	}
	check("before")
	refused := errors.New("refused")
	if err := g.Commit(t.Context(), func(*Update) error { check("while"); return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	check("after a failure")
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check("after")
	for id, want := range payloads {
		if !bytes.Equal(read(t, s, id), want) {
			t.Errorf("%v is not stored", id)
		}
	}
	g.Discard()
	for id := range payloads {
		if _, _, ok := g.Object(id); ok {
			t.Errorf("%v after it was discarded", id)
		}
	}
}
