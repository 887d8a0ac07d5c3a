// Package rpc serves JSON-RPC 2.0 over lines: one message a line, in and out.
//
// It promises that requests are carried out one after the other in the order
// in which they came, that the notification "cancel" (and "notifications/cancelled",
// as the Model Context Protocol has it) overtakes them, that
// whatever a line holds is answered or ignored and never ends the serving, and
// that each answer is one whole line. When the input ends, the requests that
// came before are still carried out; when an answer cannot be written, because
// the client is gone, everything is cancelled.
//
// It knows no other method, and nothing of what the requests do.
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// The codes of JSON-RPC 2.0, and the one of a cancelled request.
const (
	CodeParse     = -32700
	CodeInvalid   = -32600
	CodeNoMethod  = -32601
	CodeParams    = -32602
	CodeCancelled = -32097
)

// ErrGone is the cause of the cancellation when the client reads no more.
var ErrGone = errors.New("the client is gone")

// An Error is an answer that says no. A handler returns one to choose the
// code; any other error is answered with code 1.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// A Request is what a handler is asked. It is for the handler's goroutine,
// except for Notify.
type Request struct {
	ID     json.RawMessage // a JSON string or number, as it came
	Method string
	Params json.RawMessage // an object, or empty

	server *server
}

// Decode reads the parameters into v; unknown ones are ignored. The error is
// an [*Error] with [CodeParams].
func (r *Request) Decode(v any) error {
	if len(r.Params) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Params, v); err != nil {
		return &Error{Code: CodeParams, Message: "parameters of " + r.Method + ": " + err.Error()}
	}
	return nil
}

// Notify sends a notification. It may be called from any goroutine, as long as
// the request is being handled.
func (r *Request) Notify(method string, params any) {
	r.server.send(notification{JSONRPC: "2.0", Method: method, Params: params})
}

func (r *Request) size() int { return len(r.ID) + len(r.Method) + len(r.Params) }

// Progress sends a notification that may as well be lost: where the client has not
// read the last one yet, nothing is sent. It never waits for the client, for whoever
// tells how far he is may hold what others wait for.
func (r *Request) Progress(method string, params any) {
	s := r.server
	if !s.telling.TryLock() {
		return
	}
	go func() {
		defer s.telling.Unlock()
		s.send(notification{JSONRPC: "2.0", Method: method, Params: params})
	}()
}

// A Handler carries out one request. The context ends when the request is
// cancelled; the result is what JSON can encode.
type Handler func(ctx context.Context, r *Request) (any, error)

// Serve reads requests from in and writes answers to out until in ends, out
// cannot be written, or ctx ends. An end of the input is no error.
func Serve(ctx context.Context, in io.Reader, out io.Writer, handle Handler) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &server{ctx: ctx, stop: stop, out: out, handle: handle, running: map[string]context.CancelFunc{}, queue: make(chan task, queueMax)}
	s.less = sync.NewCond(&s.mapMu)
	defer context.AfterFunc(ctx, s.less.Broadcast)()
	done := make(chan error, 1)
	go func() {
		err := s.read(in)
		close(s.queue)
		done <- err
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case t, more := <-s.queue:
			if !more {
				return <-done
			}
			s.carryOut(t)
		}
	}
}

// queueMax is how many requests may wait, and waitingBytesMax how long they may be
// together; a client that sends more waits, and its cancellations with it.
const (
	queueMax        = 4096
	waitingBytesMax = 4 * messageBytesMax
)

type server struct {
	ctx    context.Context
	stop   context.CancelCauseFunc
	handle Handler
	queue  chan task

	mu      sync.Mutex // held while a line is written
	out     io.Writer
	telling sync.Mutex // held while a progress is written; before mu

	mapMu   sync.Mutex                    // guards what follows
	running map[string]context.CancelFunc // by id: requests that are not answered yet
	waiting int                           // bytes of them
	less    *sync.Cond                    // told when waiting is less
}

// A task is a request that waits for its turn.
type task struct {
	ctx    context.Context
	cancel context.CancelFunc
	req    *Request
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

// carryOut handles one request and answers it.
func (s *server) carryOut(t task) {
	defer t.cancel()
	var result any
	err := t.ctx.Err()
	if err == nil {
		result, err = s.handle(t.ctx, t.req)
	}
	cancelled := t.ctx.Err() != nil
	s.telling.Lock() // the answer comes behind what was told of its progress
	defer s.telling.Unlock()
	s.forget(t.req)
	if err == nil {
		if result == nil {
			result = struct{}{}
		}
		s.send(response{JSONRPC: "2.0", ID: t.req.ID, Result: result})
		return
	}
	answer := &Error{Code: 1, Message: err.Error()}
	if !errors.As(err, &answer) {
		answer = &Error{Code: 1, Message: err.Error()}
	}
	if cancelled && errors.Is(err, context.Canceled) {
		answer = &Error{Code: CodeCancelled, Message: t.req.Method + " was cancelled"}
	}
	s.send(response{JSONRPC: "2.0", ID: t.req.ID, Error: answer})
}

// send writes one line. If that fails nobody reads, and all work is in vain.
func (s *server) send(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		if r, ok := message.(response); ok {
			line, _ = json.Marshal(response{JSONRPC: "2.0", ID: r.ID, Error: &Error{Code: 1, Message: "the result cannot be encoded: " + err.Error()}})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		s.stop(ErrGone)
	}
}

// take registers a request, so that it can be cancelled while it waits; false
// if one with its id is not answered yet. It waits until there is room for it.
func (s *server) take(r *Request) bool {
	ctx, cancel := context.WithCancel(s.ctx)
	if !s.register(r, cancel) {
		cancel()
		return false
	}
	select {
	case s.queue <- task{ctx, cancel, r}:
	case <-s.ctx.Done():
		cancel()
	}
	return true
}

func (s *server) register(r *Request, cancel context.CancelFunc) bool {
	s.mapMu.Lock()
	defer s.mapMu.Unlock()
	if _, taken := s.running[string(r.ID)]; taken {
		return false
	}
	s.running[string(r.ID)] = cancel
	for s.waiting > 0 && s.waiting+r.size() > waitingBytesMax && s.ctx.Err() == nil {
		s.less.Wait()
	}
	s.waiting += r.size()
	return true
}

func (s *server) forget(r *Request) {
	s.mapMu.Lock()
	defer s.mapMu.Unlock()
	delete(s.running, string(r.ID))
	s.waiting -= r.size()
	s.less.Broadcast()
}

// cancel ends the context of a request that is not answered yet, if there is
// one with this id.
func (s *server) cancel(id json.RawMessage) {
	s.mapMu.Lock()
	defer s.mapMu.Unlock()
	if cancel, ok := s.running[string(id)]; ok {
		cancel()
	}
}
