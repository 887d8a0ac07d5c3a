package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// A living process is one that lives from one turn to the next.
type living struct {
	cmd    *exec.Cmd // nil: there is none
	errors said
}

// command is that of a process of rewind, which is not started yet.
func (p *living) command(ctx context.Context, l *lane, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, l.binary, args...)
	c.Dir, c.Env, c.Stderr, c.WaitDelay = l.tree, l.env, &p.errors, time.Second
	return c
}

func (p *living) start(c *exec.Cmd) error {
	err := c.Start()
	if err == nil {
		p.cmd = c
	}
	return err
}

// wake lets the process run, and rest halts it.
func (p *living) wake() {
	if p.cmd != nil {
		halt(p.cmd, false)
	}
}

func (p *living) rest() {
	if p.cmd != nil {
		halt(p.cmd, true)
	}
}

// finish asks the process to end, and makes sure that it does.
func (p *living) finish(ask func()) {
	if p.cmd == nil {
		return
	}
	p.wake()
	ask()
	kill := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait() // how it ends says nothing of what it did
	kill.Stop()
	p.cmd = nil
}

// A session is rewind through one process that lives on and serves requests;
// docs/protocol.md is its contract. The process is started when it is first needed.
type session struct {
	peer // what is done without the process
	living
	noGit, watched bool

	in   io.WriteCloser
	out  *bufio.Scanner
	last int // the id of the last request
}

// serve makes rewind through a process that lives on.
func serve(noGit, watched bool) func(*lane) system {
	return func(*lane) system { return &session{peer: rewind(noGit), noGit: noGit, watched: watched} }
}

// begin makes sure that there is a process which knows its worktree.
func (s *session) begin(ctx context.Context, l *lane) (err error) {
	if s.cmd != nil {
		return nil
	}
	c := s.command(ctx, l, "serve", "--stdio")
	c.Env = append(c.Env, fmt.Sprintf("REWIND_WATCH=%v", s.watched))
	if s.in, err = c.StdinPipe(); err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.start(c); err != nil {
		return err
	}
	s.out = bufio.NewScanner(out)
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
		return nil, fmt.Errorf("rewind serve: %w: %s", err, &s.errors)
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
	return nil, fmt.Errorf("%s: rewind serve ended: %w: %s", method, firstError(s.out.Err(), io.EOF), &s.errors)
}

func (s *session) end() { s.finish(func() { _ = s.in.Close() }) }

func (s *session) forget(ctx context.Context, l *lane) error {
	s.end()
	return s.peer.forget(ctx, l)
}

func (s *session) snapshot(ctx context.Context, l *lane) (string, error) {
	if err := s.begin(ctx, l); err != nil {
		return "", err
	}
	out, err := s.call(l, "snapshot", map[string]any{})
	if err != nil {
		return "", err
	}
	return idOf(out)
}

func (s *session) restore(ctx context.Context, l *lane, id string) error {
	if err := s.begin(ctx, l); err != nil {
		return err
	}
	_, err := s.call(l, "restore", map[string]any{"id": id})
	return err
}

// methodOf names a verb as the protocol does.
func methodOf(verb string) string {
	switch verb {
	case "plan of a restore":
		return "plan"
	case "plan of an undo":
		return "planUndo"
	}
	return verb
}

func (s *session) answer(ctx context.Context, l *lane, verb, id string) (string, error) {
	if err := s.begin(ctx, l); err != nil {
		return "", err
	}
	params := map[string]any{}
	if verb == "plan of a restore" {
		params["id"] = id
	}
	out, err := s.call(l, methodOf(verb), params)
	return string(out), err
}

// ready waits until the worktree is watched, where that is what is measured.
func (s *session) ready(ctx context.Context, l *lane) error {
	if err := s.begin(ctx, l); err != nil || !s.watched {
		return err
	}
	return s.settle(ctx, l, s, func() ([]byte, error) { return s.call(l, "status", map[string]any{}) })
}
