package process

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// A person who wants what goes on to end says so once, and again if it does not. But
// one Ctrl-C may come as two signals (of the terminal, and of a program that passes it
// on), and a terminal that is closed sends two SIGHUP: one of the shell, one of the
// system. What is put back then has to be put back all the same.

// oneCall is how long after a signal others are the same call to end.
const oneCall = 300 * time.Millisecond

// callsToEnd hears the calls to end something of which the files must be put back.
type callsToEnd struct {
	heard chan os.Signal
	ended chan struct{}

	mu    sync.Mutex // guards what follows
	last  time.Time  // when the last call began; zero: none did
	first context.CancelFunc
	more  context.CancelFunc
}

// CalledOff returns a context that ends with the first call to end. A reader of what
// is printed that is gone, such as head(1), counts as one: it would end the program.
func CalledOff(ctx context.Context) (context.Context, *callsToEnd, context.CancelFunc) {
	c := &callsToEnd{heard: make(chan os.Signal, 16), ended: make(chan struct{})}
	ctx, c.first = context.WithCancel(ctx)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		if !signal.Ignored(s) {
			signal.Notify(c.heard, s)
		}
	}
	go c.listen()
	return ctx, c, sync.OnceFunc(func() {
		signal.Stop(c.heard)
		close(c.ended)
		c.first()
	})
}

func (c *callsToEnd) listen() {
	for {
		select {
		case s := <-c.heard:
			c.take(s, time.Now())
		case <-c.ended:
			return
		}
	}
}

// take takes a signal as a call, or as part of the one before.
func (c *callsToEnd) take(s os.Signal, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.last
	if !before.IsZero() && now.Sub(before) < oneCall {
		return
	}
	c.last = now
	c.first()
	if !before.IsZero() && c.more != nil && (s == os.Interrupt || s == syscall.SIGTERM) {
		c.more()
	}
}

// Again returns a context that ends with a second call, of somebody who is there.
func (c *callsToEnd) Again(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more = cancel
	return ctx, cancel
}
