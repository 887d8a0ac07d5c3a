package serve

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/rpc"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
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
	c := cli.Command("serve --stdio", "Serve one program over standard input and output (docs/protocol.md)", cli.Nothing, func(c *cobra.Command, _ []string) error {
		if !stdio {
			return exit.Usagef("%s: say --stdio", c.Name())
		}
		// A client that is gone must end the work between two steps of it, not
		// the process in the middle of one.
		signal.Ignore(syscall.SIGPIPE)
		a.Verb = c.Name()
		a.LivesOn()
		s := &service{app: a, Keeper: record.NewKeeper()}
		s.Watch.Missed = func(what string) { s.correct(c.Context(), what) }
		defer s.Keeper.Close(c.Context())
		err := rpc.Serve(c.Context(), a.In, a.Out, s.handle)
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
	open func(context.Context, *verb.Call) (*engine.Engine, error) // nil before initialize
	*record.Keeper

	mu     sync.Mutex // guards what follows, and open
	untold string     // what the client is to be told with the next request
}

// handle carries out one request.
func (s *service) handle(ctx context.Context, r *rpc.Request) (any, error) {
	if r.Method == verb.Handshake.Name {
		return s.initialize(ctx, r)
	}
	v, ok := verb.Find(r.Method)
	if !ok {
		return nil, verb.Refused(rpc.CodeNoMethod, exit.BadUsage, fmt.Sprintf("there is no method %q", r.Method))
	}
	open, untold := s.opener()
	if open == nil {
		return nil, verb.Refused(codeNotInitialized, exit.BadUsage, "initialize comes first")
	}
	c := &verb.Call{Request: r, Begun: time.Now()}
	err := s.Begin(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer s.End()
	if c.Engine, err = open(ctx, c); err != nil {
		return nil, answer(ctx, err)
	}
	if untold != "" {
		c.Warn(untold)
	}
	result, err := v.Do(ctx, c)
	s.OfferWatched(s.app.App, c.Engine.Root())
	if err != nil && c.Recovered != nil { // the result would have told
		c.Warn(show.RecoveredText(c.Recovered))
	}
	return result, answer(ctx, err)
}

// opener returns what opens the worktree, and what the client is to be told.
func (s *service) opener() (open func(context.Context, *verb.Call) (*engine.Engine, error), untold string) {
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

// answer turns an error into the one of the protocol.
func answer(ctx context.Context, err error) error {
	var chosen *rpc.Error
	if err == nil || errors.As(err, &chosen) || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return err
	}
	code := exit.Code(err)
	if code == exit.BadUsage {
		return verb.Refused(rpc.CodeParams, exit.BadUsage, err.Error())
	}
	return verb.Refused(code, code, exit.Sentence(ctx, err))
}

// initialize settles the protocol version and the worktree.
func (s *service) initialize(ctx context.Context, r *rpc.Request) (any, error) {
	p := verb.Initialize{Protocol: 1, Dir: s.app.Dir, Force: s.app.Force, NoGit: s.app.NoGit}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.Protocol < 1 {
		return nil, verb.Refused(codeNoVersion, exit.Failed, fmt.Sprintf("protocol %d is not spoken here, only 1 to %d", p.Protocol, protocolVersion))
	}
	open := func(ctx context.Context, c *verb.Call) (*engine.Engine, error) {
		opt := &engine.Options{Force: p.Force, NoGit: p.NoGit, AutoPush: s.app.AutoPush}
		s.app.Force, s.app.NoGit = p.Force, p.NoGit
		if c == nil {
			return engine.Open(ctx, p.Dir, opt)
		}
		opt.Progress, opt.Recovered = c.Progress(), func(done *engine.Restored) { c.Recovered = done }
		return s.Watch.Open(ctx, p.Dir, opt)
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
	return verb.Initialized{
		Protocol: protocolVersion, Version: cli.Version(), Root: st.Root, Git: st.Git, Branch: e.Branch(),
		Algorithm: st.Algorithm, Store: st.Store, Warnings: warnings,
	}, nil
}
