package process

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestOneCallToEndMayBeSeveralSignals(t *testing.T) {
	ctx, c, stop := CalledOff(t.Context())
	defer stop()
	back, cancel := c.Again(ctx)
	defer cancel()
	at := time.Now()
	for _, s := range []struct {
		signal  os.Signal
		after   time.Duration
		another bool
	}{
		{os.Interrupt, 0, false}, {os.Interrupt, oneCall - 1, false}, {syscall.SIGTERM, oneCall - 1, false},
		{syscall.SIGHUP, time.Minute, false}, {syscall.SIGPIPE, 2 * time.Minute, false}, {os.Interrupt, 3 * time.Minute, true},
	} {
		c.take(s.signal, at.Add(s.after))
		if ctx.Err() == nil || (back.Err() != nil) != s.another {
			t.Errorf("after %v at %v: the search %v, putting back %v", s.signal, s.after, ctx.Err(), back.Err())
		}
	}
}
