package engine

import (
	"os"
	"testing"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestASweepWhileRecordsAreTakenOverLeavesNoneThatIsNotWhole sweeps a store, that has contents and no record, each time that
// somebody who takes the records over from the ref asks for his environment.
func TestASweepWhileRecordsAreTakenOverLeavesNoneThatIsNotWhole(t *testing.T) {
	for at, asked := 0, 1; at <= asked; at++ {
		p := newPlace(t, true)
		p.git("config", "rewind.secrets", "builtin")
		p.write("key.pem", "the only copy")
		e := p.open()
		one := p.take(e)
		kept := map[oid.ID][]byte{}
		kinds := map[oid.ID]oid.Kind{}
		for o, err := range e.reach(e.objects.Trees(t.Context(), objects.Reading{})).Overlay(one.Overlay) {
			p.must(err)
			payload, err := e.objects.Payload(t.Context(), o.Kind, o.ID)
			p.must(err)
			kept[o.ID], kinds[o.ID] = payload, o.Kind
		}
		p.must(e.Close())
		p.must(os.RemoveAll(e.dir))
		other := p.open()
		store, err := other.needStore(t.Context())
		p.must(err)
		stage := store.Stage()
		for id, payload := range kept {
			_, err := stage.Put(t.Context(), kinds[id], payload, oid.ID{})
			p.must(err)
		}
		p.must(stage.Commit(t.Context(), func(*cas.Update) error { return nil }))
		n, begun := 0, false
		e, err = Open(t.Context(), p.dir, &Options{Getenv: func(name string) string {
			if n++; begun && n == at {
				_, err := store.Sweep(t.Context(), other.sweeping(t.Context(), cas.SweepOptions{Grace: -1}, nil))
				p.must(err)
			}
			return p.getenv(name)
		}})
		p.must(err)
		_, err = e.needStore(t.Context())
		p.must(err)
		n, begun = 0, true
		p.must(e.adopt(t.Context()))
		begun, asked = false, n
		s, err := e.Find(t.Context(), one.ID.String())
		p.must(err)
		whole := e.objects.Has(t.Context(), e.alg.Sum(oid.Blob, []byte("the only copy")))
		if at == 0 && (s.Overlay.IsZero() || !whole) {
			t.Fatalf("what is whole is not taken over: %+v", s)
		}
		if !s.Overlay.IsZero() && !whole {
			t.Errorf("swept at question %d: a record names what is nowhere", at)
		}
	}
}
