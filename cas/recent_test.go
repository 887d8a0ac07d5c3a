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

// The batch that is being filled when Recent is asked is one of those that it
// gives, and may be one too many to be kept.
func TestWhatIsGivenOutAsRecentIsNotWrittenOver(t *testing.T) {
	s := newStore(t)
	g := s.Stage()
	defer g.Discard()
	g.Keep()
	put := func(n int, mark string) (ids []oid.ID, payloads [][]byte) {
		t.Helper()
		for i := range n {
			payload := bytes.Repeat(fmt.Appendf(nil, "%s %d ", mark, i), 10_000)
			id, err := g.Put(t.Context(), oid.Blob, payload, oid.ID{})
			if err != nil {
				t.Fatal(err)
			}
			ids, payloads = append(ids, id), append(payloads, payload)
		}
		return ids, payloads
	}
	for i := 0; len(g.recent) < recentBatches; i++ {
		put(1, fmt.Sprint("first", i))
	}
	ids, want := put(3, "given out")
	if len(g.batch.items) < len(ids) {
		t.Fatalf("%d payloads in the batch; the test is empty", len(g.batch.items))
	}
	recent := g.Recent()
	for i := range 60 { // works off that batch, and fills others
		put(1, fmt.Sprint("later", i))
	}
	for i, id := range ids {
		if _, got, ok := recent(id); !ok || !bytes.Equal(got, want[i]) {
			t.Errorf("%v: %v, %.40q, want %.40q", id, ok, got, want[i])
		}
	}
}
