// Package process has what concerns the process itself: signals, its end, the files that it may open, when it
// collects garbage, and the processes that it starts.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

// endGrace is how long a command may take to stop in good order when a signal
// came or its deadline passed. Then the process ends where it stands, as if it
// had been killed: what it acknowledged is durable, and what it began the next
// command finishes. Some calls of the system look at no context: a lock of the
// kernel, a pipe that nobody reads, a disk that does not answer.
const endGrace = 800 * time.Millisecond

// Interruptible returns a context that ends with the first signal that asks the
// program to end. One that was ignored when the program was started, by
// nohup(1) or by a shell that put it into the background, stays ignored.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	var heard []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			heard = append(heard, s)
		}
	}
	if len(heard) == 0 { // NotifyContext would take that for all of them
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, heard...)
}

// EndAfter ends the process when the context has ended and the command has not
// stopped by itself since. Calling off says that it has.
func EndAfter(ctx context.Context, complaints io.Writer) (off func() bool) {
	return context.AfterFunc(ctx, func() {
		time.Sleep(endGrace)
		said := make(chan struct{})
		go func() { // nobody may be reading
			fmt.Fprintf(complaints, "rewind: %s\n", abrupt(ctx.Err()))
			close(said)
		}()
		select {
		case <-said:
		case <-time.After(endGrace / 8):
		}
		os.Exit(exit.Failed)
	})
}

// abrupt says what is known of a command that did not stop by itself: not that
// nothing was recorded.
func abrupt(why error) string {
	const next = "what was begun and not finished, the next command finishes or names"
	if errors.Is(why, context.DeadlineExceeded) {
		return "the deadline has passed; " + next
	}
	return "interrupted; " + next
}
