package engine

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An engine that found no store looks again at every command, for another process
// may have made one. If that one has it locked, the command waits: but no longer
// than it is told to.
func TestWhoWaitsForAStoreThatWasMadeSinceCanBeToldToStop(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(context.Context, *Engine) error{
		"list":    func(ctx context.Context, e *Engine) error { _, err := e.List(ctx, nil); return err },
		"status":  func(ctx context.Context, e *Engine) error { _, err := e.Status(ctx); return err },
		"resolve": func(ctx context.Context, e *Engine) error { _, err := e.Find(ctx, "@"); return err },
		"preview": func(ctx context.Context, e *Engine) error {
			_, err := e.Snapshot(ctx, &SnapshotOptions{DryRun: true})
			return err
		},
		"undo":   func(ctx context.Context, e *Engine) error { _, err := e.Do(ctx, Op{Verb: Undo}); return err },
		"prune":  func(ctx context.Context, e *Engine) error { _, err := e.Prune(ctx, nil); return err },
		"purge":  func(ctx context.Context, e *Engine) error { _, err := e.Purge(ctx, []string{"f"}, true); return err },
		"sync":   func(ctx context.Context, e *Engine) error { _, err := e.Sync(ctx); return err },
		"verify": func(ctx context.Context, e *Engine) error { _, err := e.Verify(ctx); return err },
		"unpin":  func(ctx context.Context, e *Engine) error { return e.Pin(ctx, "name", oid.ID{}) },
		"an object": func(ctx context.Context, e *Engine) error {
			_, _, err := e.objects.Read(ctx, oid.SHA1.Sum(oid.Blob, []byte("1")))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, true)
			p.write("f", "1")
			e := p.open() // there is no store yet
			p.snap(p.open(), "by another", nil)
			lock, err := durable.Lock(t.Context(), filepath.Join(e.dir, storeFile+".lock"), durable.Exclusive)
			p.must(err)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- command(ctx, e) }()
			select {
			case err := <-done:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("it goes on waiting")
			}
			p.must(lock.Unlock())
		})
	}
}
