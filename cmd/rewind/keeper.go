package main

import (
	"context"
	"errors"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/watched"
)

// A keeper has what a program that lives on keeps of a worktree from one request to the
// next. It holds no lock that another process could wait for.
type keeper struct {
	turn   chan struct{}  // has room for who uses the engine
	engine *engine.Engine // of the last request; nil if it could not be opened
	watch  watched.Tree
}

func newKeeper() *keeper { return &keeper{turn: make(chan struct{}, 1)} }

var errBusy = errors.New("it is busy with another request")

// begin waits for the turn of a request, for so long; 0: as long as it takes. The
// caller ends it.
func (k *keeper) begin(ctx context.Context, wait time.Duration) error {
	var late <-chan time.Time
	if wait > 0 {
		late = time.After(wait)
	}
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-late:
		return errBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *keeper) end() { <-k.turn }

// reopen opens the worktree for a request, with what the last one held open.
func (k *keeper) reopen(ctx context.Context, dir string, opt *engine.Options) (_ *engine.Engine, err error) {
	opt.Watch = &k.watch
	if k.engine == nil {
		k.engine, err = engine.Open(ctx, dir, opt)
	} else {
		k.engine, err = k.engine.Reopen(ctx, dir, opt)
	}
	return k.engine, err
}

func (k *keeper) close() {
	_ = k.begin(context.Background(), 0)
	defer k.end()
	k.watch.Close()
	if k.engine != nil {
		_ = k.engine.Close()
	}
}
