package cas

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestWhatWasPutLatelyIsStillInMemory(t *testing.T) {
	s := newStore(t)
	g := s.Stage()
	defer g.Discard()
	g.Keep()
	want := map[oid.ID][]byte{}
	for i := range 200 {
		payload := bytes.Repeat(fmt.Appendf(nil, "payload %d ", i), 1000+i) // 2 MiB, two batches and more
		id, err := g.Put(t.Context(), oid.Blob, payload, oid.ID{})
		if err != nil {
			t.Fatal(err)
		}
		want[id] = payload
	}
	recent := g.Recent()
	later, err := g.Put(t.Context(), oid.Tree, nil, oid.ID{})
	if err == nil {
		err = g.Commit(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := s.Stage() // would reuse a buffer that was given back
	for i := range 200 {
		if _, err := other.Put(t.Context(), oid.Blob, bytes.Repeat([]byte{byte(i)}, 20000+i), oid.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	other.Discard()
	for id, payload := range want {
		if kind, got, ok := recent(id); !ok || kind != oid.Blob || !bytes.Equal(got, payload) {
			t.Fatalf("%v: %v, %v, %.40q", id, ok, kind, got)
		}
	}
	if _, _, ok := recent(later); ok {
		t.Error("what was put later is there")
	}
	if _, _, ok := g.Recent()(later); ok {
		t.Error("a stage that was committed remembers")
	}
}
