package cas

import "context"

// An early is a batch that is worked off while its stage's owner does other things.
type early struct {
	batch  *batch
	done   chan struct{} // closed when that has come to its end
	failed bool          // to be read after done
}

// Early begins to compress what was put so far, beside the caller: [Stage.Commit] then
// need not. What of it fails is tried again there. It is for a stage to which little
// will be put before it is committed; more may be.
func (g *Stage) Early(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.batch.items) == 0 || g.early != nil {
		return
	}
	e := &early{batch: g.batch, done: make(chan struct{})}
	g.batch, g.early = &batch{}, e
	go func() {
		defer close(e.done)
		e.failed = g.work(ctx, e.batch) != nil
	}()
}

// failed is a batch that failed, and is to be tried again.
func failed(b *batch) *early {
	e := &early{batch: b, done: make(chan struct{}), failed: true}
	close(e.done)
	return e
}

// arrive waits for what was begun early, and returns the batch if that failed.
func (g *Stage) arrive() *batch {
	g.mu.Lock()
	e := g.early
	g.early = nil
	g.mu.Unlock()
	if e == nil {
		return nil
	}
	if <-e.done; e.failed {
		return e.batch
	}
	return nil
}
