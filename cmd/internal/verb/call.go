// Package verb has what rewind does for programs that ask: the methods of docs/protocol.md.
package verb

import (
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/rpc"
	"github.com/seed-82afce7a/rewind/engine"
)

// A Call is one request with the worktree open.
type Call struct {
	*rpc.Request
	Engine    *engine.Engine
	Begun     time.Time
	Recovered *engine.Restored // what was finished on the way, if anything
	Told      func(string)     // takes warnings in place of the client; nil: the client gets them
}

type exitData struct {
	Exit int `json:"exit"`
}

// Refused is an answer of the protocol that says no, with the exit code that a command
// would have.
func Refused(code, exit int, message string) *rpc.Error {
	return &rpc.Error{Code: code, Message: message, Data: exitData{exit}}
}

// progressEvery keeps notifications from being work of their own.
const progressEvery = 100 * time.Millisecond

// Progress returns a function that tells the client how far the request is.
func (c *Call) Progress() func(engine.Progress) {
	var mu sync.Mutex
	last := c.Begun
	return func(p engine.Progress) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if now.Sub(last) < progressEvery {
			return
		}
		last = now
		c.Request.Progress("progress", Progress{ID: c.ID, Step: p.Step, Done: p.Done, Total: p.Total, Bytes: p.Bytes})
	}
}

// Warn tells the client of something that did not stop the request.
func (c *Call) Warn(message string) {
	if c.Told != nil {
		c.Told(message)
		return
	}
	c.Notify("warning", Warning{Message: message})
}
