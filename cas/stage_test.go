package cas

import (
	"context"
	"errors"
	"testing"
)

func TestWhatIsCompressedEarlyIsCommittedOrDiscarded(t *testing.T) {
	s, r := newStore(t), seeded(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	payloads := [][]byte{text(r, 5000), noise(r, 200<<10), text(r, 100), text(r, 3000)}
	for _, ctx := range []context.Context{ended, t.Context()} {
		g := s.Stage()
		ids := putAll(t, g, payloads[:3])
		g.Early(ctx)
		if len(g.batch.items) != 0 {
			t.Fatal("nothing was begun")
		}
		g.Early(ctx) // there is nothing more to begin
		if ctx == ended {
			if err := g.Commit(t.Context(), nil); !errors.Is(err, context.Canceled) {
				t.Errorf("of a stage whose contents were not compressed, Commit gives %v", err)
			}
			g.Discard()
			must(t, g.Commit(t.Context(), nil))
			if n := countRows(t, s); n != (census{}) {
				t.Errorf("of what was discarded is left: %+v", n)
			}
			continue
		}
		ids = append(ids, putAll(t, g, payloads[3:])...)
		must(t, g.Commit(t.Context(), nil))
		same(t, s, ids, payloads)
	}
}
