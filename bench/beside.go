package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// beside is rewind as a new process each time, while another one watches the
// worktree: `rewind watch` answers what the new process asks.
type beside struct {
	rewind
	cmd    *exec.Cmd // the one that watches; nil: there is none
	ended  chan struct{}
	errors *said
}

func (b *beside) forget(ctx context.Context, l *lane) error {
	b.end()
	return b.rewind.forget(ctx, l)
}

func (b *beside) snapshot(ctx context.Context, l *lane) (string, error) {
	if b.cmd != nil {
		defer l.peak.watch(b.cmd.Process.Pid)()
	}
	return b.rewind.snapshot(ctx, l)
}

// ready waits until the worktree is watched.
func (b *beside) ready(ctx context.Context, l *lane) error {
	if b.cmd == nil {
		b.errors = &said{}
		c := exec.CommandContext(ctx, l.binary, "-C", l.tree, "watch", "--no-points")
		c.Dir, c.Env, c.Stderr, c.WaitDelay = l.tree, l.env, b.errors, time.Second
		if err := c.Start(); err != nil {
			return err
		}
		b.cmd, b.ended = c, make(chan struct{})
		go func() { _ = c.Wait(); close(b.ended) }()
	}
	for end := time.Now().Add(l.settles()); ; time.Sleep(5 * time.Millisecond) {
		out, err := b.run(ctx, l, "status", "--json")
		if err != nil {
			return err
		}
		var reply struct {
			Watched   bool
			Unwatched string
		}
		if err := json.Unmarshal(out, &reply); err != nil || reply.Watched {
			return err
		}
		select {
		case <-b.ended:
			return unready{fmt.Sprintf("rewind watch ended: %s", b.errors)}
		default:
		}
		if time.Now().After(end) {
			return unready{"the worktree is not watched: " + reply.Unwatched}
		}
		if _, err := b.rewind.snapshot(ctx, l); err != nil {
			return err
		}
	}
}

func (b *beside) wake() {
	if b.cmd != nil {
		halt(b.cmd, false)
	}
}

func (b *beside) rest() {
	if b.cmd != nil {
		halt(b.cmd, true)
	}
}

// end tells the process to end, and makes sure that it does.
func (b *beside) end() {
	if b.cmd == nil {
		return
	}
	b.wake()
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.ended:
	case <-time.After(10 * time.Second):
		_ = b.cmd.Process.Kill()
		<-b.ended
	}
	b.cmd = nil
}
