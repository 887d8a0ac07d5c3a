package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/rpc"
	"github.com/seed-82afce7a/rewind/engine"
)

// protocolVersion is the highest version of docs/protocol.md spoken here.
const protocolVersion = 1

// The error codes of docs/protocol.md beside those of JSON-RPC.
const (
	codeNotInitialized = -32002
	codeNoVersion      = 10
)

func serveCommand(a *app) *cobra.Command {
	var stdio bool
	c := verb("serve --stdio", "Serve one program over standard input and output (docs/protocol.md)", nothing, func(c *cobra.Command, _ []string) error {
		if !stdio {
			return usagef("%s: say --stdio", c.Name())
		}
		// A client that is gone must end the work between two steps of it, not
		// the process in the middle of one.
		signal.Ignore(syscall.SIGPIPE)
		a.verb = c.Name()
		a.livesOn()
		s := &service{app: a, keeper: newKeeper()}
		s.watch.Missed = func(what string) { s.correct(c.Context(), what) }
		defer s.keeper.close(c.Context())
		defer func() { s.offer.close() }()
		err := rpc.Serve(c.Context(), a.in, a.out, s.handle)
		if errors.Is(err, rpc.ErrGone) {
			return nil
		}
		return err
	})
	c.Flags().BoolVar(&stdio, "stdio", false, "read requests from standard input and answer on standard output")
	return c
}

// A service carries out the requests of one client. The worktree is opened again for
// each request, so that each sees the settings, the branch and the store as
// they are then.
type service struct {
	app  *app
	open func(context.Context, *call) (*engine.Engine, error) // nil before initialize
	*keeper
	offer   *offer    // while the worktree is watched, and no other process has one
	offered time.Time // when that was last tried

	mu     sync.Mutex // guards what follows, and open
	untold string     // what the client is to be told with the next request
}

// A call is one request with the worktree open.
type call struct {
	*rpc.Request
	engine    *engine.Engine
	begun     time.Time
	recovered *engine.Restored // what was finished on the way, if anything
	told      func(string)     // takes warnings in place of the client; nil: the client gets them
}

// methods lists what docs/protocol.md does.
var methods = map[string]func(context.Context, *call) (any, error){
	"snapshot":   callSnapshot,
	"preview":    callPreview,
	"plan":       callPlan,
	"planUndo":   func(ctx context.Context, c *call) (any, error) { return callPlanUndo(ctx, c, false) },
	"planRedo":   func(ctx context.Context, c *call) (any, error) { return callPlanUndo(ctx, c, true) },
	"restore":    callRestore,
	"planRevert": func(ctx context.Context, c *call) (any, error) { return callPlanMerge(ctx, c, "revert") },
	"planApply":  func(ctx context.Context, c *call) (any, error) { return callPlanMerge(ctx, c, "apply") },
	"revert":     func(ctx context.Context, c *call) (any, error) { return callMerge(ctx, c, "revert") },
	"apply":      func(ctx context.Context, c *call) (any, error) { return callMerge(ctx, c, "apply") },
	"undo":       func(ctx context.Context, c *call) (any, error) { return callUndo(ctx, c, false) },
	"redo":       func(ctx context.Context, c *call) (any, error) { return callUndo(ctx, c, true) },
	"list":       callList,
	"log":        callLog,
	"show":       callShow,
	"diff":       callDiff,
	"blame":      callBlame,
	"exists":     callExists,
	"points":     callPoints,
	"pin":        callPin,
	"pins":       callPins,
	"label":      callLabel,
	"prune":      callPrune,
	"status":     callStatus,
	"sync":       callSync,
}

// handle carries out one request.
func (s *service) handle(ctx context.Context, r *rpc.Request) (any, error) {
	if r.Method == "initialize" {
		return s.initialize(ctx, r)
	}
	method, ok := methods[r.Method]
	if !ok {
		return nil, &rpc.Error{Code: rpc.CodeNoMethod, Message: fmt.Sprintf("there is no method %q", r.Method), Data: exitData{exitUsage}}
	}
	open, untold := s.opener()
	if open == nil {
		return nil, &rpc.Error{Code: codeNotInitialized, Message: "initialize comes first", Data: exitData{exitUsage}}
	}
	c := &call{Request: r, begun: time.Now()}
	err := s.begin(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer s.end()
	if c.engine, err = open(ctx, c); err != nil {
		return nil, answer(ctx, err)
	}
	if untold != "" {
		c.warn(untold)
	}
	result, err := method(ctx, c)
	s.offerOrNot(c.engine)
	if err != nil && c.recovered != nil { // the result would have told
		c.warn(recoveredText(c.recovered))
	}
	return result, answer(ctx, err)
}

// offerOrNot lets other processes use what is kept here, as long as the worktree is
// watched.
func (s *service) offerOrNot(e *engine.Engine) {
	watched, _ := s.watch.State()
	if s.offer != nil && (!watched || s.offer.root != e.Root() || !s.offer.stands()) {
		go s.offer.close() // it may wait for who waits for this request
		s.offer = nil
	}
	if s.offer == nil && watched && time.Since(s.offered) > offerEvery {
		s.offered = time.Now()
		s.offer, _ = newOffer(context.Background(), s.app, s.keeper, e)
	}
}

// offerEvery is how often a place is looked for that another process has taken.
const offerEvery = 2 * time.Second

// opener returns what opens the worktree, and what the client is to be told.
func (s *service) opener() (open func(context.Context, *call) (*engine.Engine, error), untold string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open, untold, s.untold = s.open, s.untold, ""
	return open, untold
}

// correct takes a snapshot of all that is there, after the watcher has missed
// something.
func (s *service) correct(ctx context.Context, what string) {
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	e, err := open(ctx, nil)
	if err == nil {
		defer e.Close()
		_, err = e.Snapshot(ctx, &engine.SnapshotOptions{Trigger: "audit"})
	}
	told := what + ": this worktree is not watched any more, and a snapshot of all that is there was taken"
	if err != nil {
		told = what + ": this worktree is not watched any more; a snapshot of all that is there failed: " + err.Error()
	}
	s.mu.Lock()
	s.untold = told
	s.mu.Unlock()
}

type exitData struct {
	Exit int `json:"exit"`
}

// answer turns an error into the one of the protocol.
func answer(ctx context.Context, err error) error {
	var chosen *rpc.Error
	if err == nil || errors.As(err, &chosen) || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return err
	}
	code := exitCode(err)
	if code == exitUsage {
		return &rpc.Error{Code: rpc.CodeParams, Message: err.Error(), Data: exitData{exitUsage}}
	}
	return &rpc.Error{Code: code, Message: sentence(ctx, err), Data: exitData{code}}
}

// initialize settles the protocol version and the worktree.
func (s *service) initialize(ctx context.Context, r *rpc.Request) (any, error) {
	p := struct {
		Protocol     *int
		Dir          string
		Force, NoGit bool
	}{Dir: s.app.dir, Force: s.app.force, NoGit: s.app.noGit}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.Protocol != nil && *p.Protocol < 1 {
		return nil, &rpc.Error{Code: codeNoVersion, Message: fmt.Sprintf("protocol %d is not spoken here, only 1 to %d", *p.Protocol, protocolVersion), Data: exitData{exitFailed}}
	}
	open := func(ctx context.Context, c *call) (*engine.Engine, error) {
		opt := &engine.Options{Force: p.Force, NoGit: p.NoGit, Watch: &s.watch}
		s.app.force, s.app.noGit = p.Force, p.NoGit
		if c == nil {
			return engine.Open(ctx, p.Dir, opt)
		}
		opt.Progress, opt.Recovered = c.progress(), func(done *engine.Restored) { c.recovered = done }
		return s.reopen(ctx, p.Dir, opt)
	}
	e, err := open(ctx, nil)
	if err != nil {
		return nil, answer(ctx, err)
	}
	defer e.Close()
	st, err := e.Status(ctx)
	if err != nil {
		return nil, answer(ctx, err)
	}
	s.mu.Lock()
	s.open = open
	s.mu.Unlock()
	warnings := append([]string{}, st.Warnings...)
	return struct {
		Protocol  int      `json:"protocol"`
		Version   string   `json:"version"`
		Root      string   `json:"root"`
		Git       bool     `json:"git"`
		Branch    string   `json:"branch,omitempty"`
		Algorithm string   `json:"algorithm"`
		Store     string   `json:"store"`
		Warnings  []string `json:"warnings"`
	}{protocolVersion, version(), st.Root, st.Git, e.Branch(), e.Algorithm().String(), st.Store, warnings}, nil
}

// progressEvery keeps notifications from being work of their own.
const progressEvery = 100 * time.Millisecond

// progress returns a function that tells the client how far the request is.
func (c *call) progress() func(engine.Progress) {
	var mu sync.Mutex
	last := c.begun
	return func(p engine.Progress) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if now.Sub(last) < progressEvery {
			return
		}
		last = now
		c.Progress("progress", struct {
			ID    json.RawMessage `json:"id"`
			Step  string          `json:"step"`
			Done  int             `json:"done"`
			Total int             `json:"total,omitempty"`
			Bytes int64           `json:"bytes,omitempty"`
		}{c.ID, p.Step, p.Done, p.Total, p.Bytes})
	}
}

// warn tells the client of something that did not stop the request.
func (c *call) warn(message string) {
	if c.told != nil {
		c.told(message)
		return
	}
	c.Notify("warning", struct {
		Message string `json:"message"`
	}{message})
}
