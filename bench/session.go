package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// A session is rewind through one process that lives on and serves requests;
// docs/protocol.md is its contract. The process is started when it is first needed.
type session struct {
	rewind
	watched bool

	cmd    *exec.Cmd // nil: there is no process
	in     io.WriteCloser
	out    *bufio.Scanner
	errors *said
	last   int // the id of the last request
}

// serve makes rewind through a process that lives on.
func serve(noGit, watched bool) func(*lane) system {
	return func(*lane) system { return &session{rewind: rewind{noGit}, watched: watched} }
}

// start makes sure that there is a process which knows its worktree.
func (s *session) start(ctx context.Context, l *lane) (err error) {
	if s.cmd != nil {
		return nil
	}
	s.errors = &said{}
	c := exec.CommandContext(ctx, l.binary, "serve", "--stdio")
	c.Dir, c.Env, c.Stderr, c.WaitDelay = l.tree, append(l.env, fmt.Sprintf("REWIND_WATCH=%v", s.watched)), s.errors, time.Second
	if s.in, err = c.StdinPipe(); err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.cmd, s.out = c, bufio.NewScanner(out)
	s.out.Buffer(nil, 17<<20) // a message is at most 16 MiB
	_, err = s.call(l, "initialize", map[string]any{"protocol": 1, "dir": l.tree, "client": "bench", "noGit": s.noGit})
	return err
}

// call sends one request and waits for its answer.
func (s *session) call(l *lane, method string, params any) (json.RawMessage, error) {
	s.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	defer l.peak.watch(s.cmd.Process.Pid)()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("rewind serve: %w: %s", err, s.errors)
	}
	for s.out.Scan() {
		var reply struct {
			ID     *int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(s.out.Bytes(), &reply); err != nil {
			return nil, fmt.Errorf("rewind serve answered %.200q: %w", s.out.Bytes(), err)
		}
		switch {
		case reply.ID == nil || *reply.ID != s.last: // a notification
		case reply.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, reply.Error.Message)
		default:
			return bytes.Clone(reply.Result), nil
		}
	}
	return nil, fmt.Errorf("%s: rewind serve ended: %w: %s", method, firstError(s.out.Err(), io.EOF), s.errors)
}

func (s *session) forget(ctx context.Context, l *lane) error {
	s.end()
	return s.rewind.forget(ctx, l)
}

func (s *session) snapshot(ctx context.Context, l *lane) (string, error) {
	if err := s.start(ctx, l); err != nil {
		return "", err
	}
	out, err := s.call(l, "snapshot", map[string]any{})
	if err != nil {
		return "", err
	}
	return idOf(out)
}

func (s *session) restore(ctx context.Context, l *lane, id string) error {
	if err := s.start(ctx, l); err != nil {
		return err
	}
	_, err := s.call(l, "restore", map[string]any{"id": id})
	return err
}

// watching asks whether the next snapshot will look only where something changed.
func (s *session) watching(l *lane) (ok bool, why string, err error) {
	out, err := s.call(l, "status", map[string]any{})
	if err != nil {
		return false, "", err
	}
	var reply struct {
		Watched   bool
		Unwatched string
	}
	err = json.Unmarshal(out, &reply)
	return reply.Watched, reply.Unwatched, err
}

// settles is how long a watcher may take until all is watched, after full scans.
func (l *lane) settles() time.Duration {
	return 30*time.Second + time.Duration(l.names.files)*200*time.Microsecond
}

// ready waits until the worktree is watched, where that is what is measured: the
// watching begins in the background, and full scans come first.
func (s *session) ready(ctx context.Context, l *lane) error {
	if err := s.start(ctx, l); err != nil || !s.watched {
		return err
	}
	for end := time.Now().Add(l.settles()); ; time.Sleep(5 * time.Millisecond) {
		ok, why, err := s.watching(l)
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return unready{"the worktree is not watched: " + why}
		}
		if _, err := s.snapshot(ctx, l); err != nil {
			return err
		}
	}
}

// wake lets the process run, and rest halts it.
func (s *session) wake() {
	if s.cmd != nil {
		halt(s.cmd, false)
	}
}

func (s *session) rest() {
	if s.cmd != nil {
		halt(s.cmd, true)
	}
}

// end lets the process end, and makes sure that it does.
func (s *session) end() {
	if s.cmd == nil {
		return
	}
	s.wake()
	_ = s.in.Close()
	kill := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	if err := s.cmd.Wait(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		_ = s.cmd.Process.Kill()
	}
	kill.Stop()
	s.cmd = nil
}
