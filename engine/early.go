package engine

import (
	"context"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// earlyFiles is from how many files read a snapshot's way into git begins
// before it is recorded. Fewer are there as soon otherwise.
const earlyFiles = 64

// An early is the bridge of a snapshot that is still being recorded. It packs
// what the scan has read, while others plan and wait for the disk; nothing of
// it can be seen in git before the snapshot stands.
type early struct {
	id     oid.ID
	stands chan struct{} // closed when the snapshot stands
	done   chan struct{} // closed when the bridge has ended, well or not
	cancel context.CancelFunc
}

// bridgeEarly begins, or returns nil where that is not worth it, or where other
// snapshots have to go into git first. The caller ends it with go on or stop.
func (e *Engine) bridgeEarly(ctx context.Context, c *capture) *early {
	if e.repo == nil || c.stage == nil || c.last == nil || c.unchanged(c.last) || c.result.Counters.Opened < earlyFiles {
		return nil
	}
	rows, err := e.pending(ctx)
	if err != nil || len(e.inGit(ctx, rows)) != len(rows) || !e.repo.Keeps(ctx, c.last.ID) {
		return nil
	}
	payload := c.commitObject()
	b := &early{id: e.alg.Sum(oid.Commit, payload), stands: make(chan struct{}), done: make(chan struct{})}
	ctx, b.cancel = context.WithCancel(ctx)
	job := b.job(ctx, e, c)
	job.Commit = payload
	go func() {
		defer close(b.done)
		_, _ = e.repo.Bridge(ctx, job) // what fails is done again by the usual bridge
	}()
	return b
}

func (b *early) job(ctx context.Context, e *Engine, c *capture) gitbridge.Job {
	recent := c.stage.Recent()
	known := func(id oid.ID) (oid.Kind, []byte, bool) {
		if p, ok := c.trees[id]; ok {
			return oid.Tree, p, true
		}
		return recent(id)
	}
	return gitbridge.Job{
		Snapshot: b.id,
		Ready:    b.ready,
		Load: func(id oid.ID) (oid.Kind, []byte, error) {
			if kind, p, ok := known(id); ok {
				return kind, p, nil
			}
			return e.object(ctx, id)
		},
		Open: func(id oid.ID) (gitbridge.Object, error) {
			if kind, p, ok := known(id); ok {
				return gitodb.Payload(kind, p), nil
			}
			if err := b.ready(ctx); err != nil { // before that it is not in the store
				return gitbridge.Object{}, err
			}
			return e.stream(ctx, id)
		},
	}
}

// ready waits until the snapshot stands.
func (b *early) ready(ctx context.Context) error {
	select {
	case <-b.stands:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// goOn says that the snapshot stands, if it is the one that was recorded.
func (b *early) goOn(recorded oid.ID) {
	switch {
	case b == nil:
	case recorded == b.id:
		close(b.stands)
	default:
		b.cancel()
	}
}

// wait waits for the end.
func (b *early) wait() {
	if b != nil {
		<-b.done
		b.cancel()
	}
}

// stop ends it without a snapshot.
func (b *early) stop() {
	if b != nil {
		b.cancel()
		<-b.done
	}
}
