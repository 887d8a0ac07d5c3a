package record

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// A Keeper has what a program that lives on keeps of a worktree from one request to the
// next. It holds no lock that another process could wait for.
type Keeper struct {
	turn  chan struct{} // has room for who uses the engine
	Watch engine.Watch
	rests atomic.Bool // a rest is to come

	failing atomic.Pointer[Failing] // nil: what it records by itself is recorded

	offer   *offer    // nil: other processes cannot use it
	offered time.Time // when that was last tried
}

// NewKeeper makes one that keeps nothing yet.
func NewKeeper() *Keeper { return &Keeper{turn: make(chan struct{}, 1)} }

// restAfter is how long after a turn what it has left is done. Who asks in between has
// the next turn.
const restAfter = 200 * time.Millisecond

// rest does what turns have left, unless the keeper was closed since.
func (k *Keeper) rest() {
	_ = k.Begin(context.Background(), 0)
	defer func() { <-k.turn }()
	k.rests.Store(false)
	_ = k.Watch.Rest(context.Background()) // what fails is tried again after the next turn
}

var errBusy = errors.New("it is busy with another request")

// Begin waits for the turn of a request, for so long; 0: as long as it takes. The
// caller ends it.
func (k *Keeper) Begin(ctx context.Context, wait time.Duration) error {
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

// End ends the turn of a request.
func (k *Keeper) End() {
	<-k.turn
	if k.Watch.Due() && k.rests.CompareAndSwap(false, true) {
		time.AfterFunc(restAfter, k.rest)
	}
}

// Close ends the keeping. What turns have left is done before, unless the program is to
// end at once: then who records next does it.
func (k *Keeper) Close(ctx context.Context) {
	k.offer.close()
	_ = k.Begin(context.Background(), 0)
	defer k.End()
	if ctx.Err() == nil {
		_ = k.Watch.Rest(ctx)
	}
	_ = k.Watch.Close()
}
