package cas

import (
	"bytes"
	"context"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// putEarly puts contents, and begins to compress them.
func putEarly(t *testing.T, ctx context.Context, g *Stage, payloads [][]byte) (ids []oid.ID) {
	t.Helper()
	ids = putAll(t, g, payloads)
	g.Early(ctx)
	if len(g.batch.items) != 0 || g.early == nil {
		t.Fatal("nothing was begun")
	}
	return ids
}

func TestWhatIsCompressedEarlyIsCommitted(t *testing.T) {
	for _, how := range []string{"done", "cancelled", "committed twice", "discarded"} {
		t.Run(how, func(t *testing.T) {
			s, r := newStore(t), seeded(t)
			g := s.Stage()
			ctx, cancel := context.WithCancel(t.Context())
			if how != "done" {
				cancel()
			}
			defer cancel()
			payloads := [][]byte{text(r, 5000), noise(r, 200<<10), text(r, 100)}
			ids := putEarly(t, ctx, g, payloads)
			g.Early(ctx) // there is nothing more to begin
			if how == "discarded" {
				g.Discard()
				must(t, g.Commit(t.Context(), nil))
				if n := countRows(t, s); n != (census{}) {
					t.Errorf("of what was discarded is left: %+v", n)
				}
				return
			}
			if how == "committed twice" {
				if err := g.Commit(ctx, nil); err == nil {
					t.Error("a commit that was cancelled succeeds")
				}
			}
			payloads = append(payloads, text(r, 3000)) // put after that
			ids = append(ids, putAll(t, g, payloads[3:])...)
			must(t, g.Commit(t.Context(), nil))
			for i, id := range ids {
				if !bytes.Equal(read(t, s, id), payloads[i]) {
					t.Errorf("content %d came back different", i)
				}
			}
			if n := countRows(t, s); n.objects != len(ids) {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestAStageWithNothingInItBeginsNothingEarly(t *testing.T) {
	g := newStore(t).Stage()
	g.Early(t.Context())
	if g.early != nil {
		t.Error("something was begun")
	}
}
