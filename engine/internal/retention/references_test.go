package retention

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

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
