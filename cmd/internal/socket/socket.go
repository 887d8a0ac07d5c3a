// Package socket joins processes of one user: one that serves a directory, and
// others that ask it, by a socket that nobody else can reach.
//
// It promises that both sides belong to the same user; that whoever asks is told
// soon if nobody answers, for a process that serves says several times a second
// that it is alive; and that a process which was stopped for longer than that takes
// its client for gone. It knows nothing of what is asked.
package socket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// ErrNone is reported where nobody serves, or nobody who can be trusted to: who asks
// has to do without.
var ErrNone = errors.New("no process serves this directory")

// ErrTaken is wrapped by the error of [Listen] where another process serves.
var ErrTaken = errors.New("another process serves this directory")

// ErrUnable is wrapped by errors that tell why there can be no socket here.
var ErrUnable = errors.New("no private socket can be made")

const (
	requestMax = 1 << 20
	answerMax  = 16 << 20 // all that is said to one request
	clientsMax = 64       // at once; more are sent away

	beatEvery = 100 * time.Millisecond

	// patience is how long a client waits until the process that serves has begun.
	patience = time.Second

	// then is how long it waits from then on without a sign of life, on a machine that
	// may have other things to do. The side that serves takes the client for gone after
	// half of it.
	then = 5 * patience
)

// readFrame reads what one side says at once: its length and its bytes.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(most) {
		return nil, fmt.Errorf("%w: %d bytes at once are too much", ErrNone, n)
	}
	p := make([]byte, n)
	_, err := io.ReadFull(r, p)
	return p, err
}

func writeFrame(c net.Conn, p []byte, wait time.Duration) error {
	if err := c.SetWriteDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...))
	return err
}

// A Conn is the client's side of one request. It is for one goroutine.
type Conn struct {
	// Dir is the directory that is served: the one that was asked for, or one above.
	Dir string

	conn     *net.UnixConn
	left     int
	most     int // bytes of what is said next
	patience time.Duration
	off      func() bool
}

// Dial finds the process that serves a directory, or the nearest one above it, under
// the same program's name. Every error but the context's is an [ErrNone].
func Dial(ctx context.Context, p *Place, dir, program string) (*Conn, error) {
	conn, served, err := p.dial(dir, program)
	if err != nil {
		return nil, none(ctx, err)
	}
	c := &Conn{Dir: served, conn: conn, left: answerMax, most: requestMax, patience: patience}
	c.off = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return c, nil
}

// none makes every error that is not the context's an [ErrNone].
func none(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, ErrNone) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNone, err)
}

// Send says what is asked for, and once more what has come of the answer.
func (c *Conn) Send(p []byte) error {
	if most := c.most; len(p) > most {
		return fmt.Errorf("%w: the request is too long", ErrNone)
	}
	c.most = answerMax
	return writeFrame(c.conn, p, patience)
}

// Next returns what is said next. The end is [io.EOF]; silence, too much, and the
// end of the process in the middle are other errors.
func (c *Conn) Next() ([]byte, error) {
	for {
		if err := c.conn.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
			return nil, err
		}
		p, err := readFrame(c.conn, c.left)
		if err == nil {
			c.patience = then
		}
		if err != nil || len(p) > 0 {
			c.left -= len(p)
			return p, err
		}
	}
}

// Peer is the process that serves, also where it does not answer; 0 if nobody knows.
func (c *Conn) Peer() int {
	pid, _ := ownPeer(c.conn)
	return pid
}

// Close ends the request. Who carries it out for this client alone stops.
func (c *Conn) Close() error {
	c.off()
	return c.conn.Close()
}

// A Request is the serving side of one request.
type Request struct {
	Body []byte
	Peer int // the process that asks

	conn  *net.UnixConn
	gone  chan struct{}
	later chan []byte // what the client says after the request; closed when it is gone

	mu     sync.Mutex // guards what follows, and writing
	heard  time.Time  // when something was last said to the client
	left   int
	closed bool
}

// Say tells the client something.
func (r *Request) Say(p []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return net.ErrClosed
	}
	if r.left -= len(p); r.left < 0 {
		r.end()
		return fmt.Errorf("%w: the answer is too long", ErrUnable)
	}
	if err := writeFrame(r.conn, p, then/2); err != nil {
		r.deaf()
		return err
	}
	r.heard = time.Now()
	return nil
}

// deaf notes that the client hears nothing any more. What it said before it went is read
// all the same: the connection is closed by who reads, or soon. It is for who holds the
// mutex.
func (r *Request) deaf() {
	if !r.closed {
		r.closed = true
		close(r.gone)
		_ = r.conn.SetReadDeadline(time.Now().Add(patience))
	}
}

// end is for who holds the mutex.
func (r *Request) end() {
	r.deaf()
	_ = r.conn.Close()
}

func (r *Request) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

// live says that the process is alive until the request ends, and listens for the
// end of the client.
func (r *Request) live() {
	go func() {
		defer close(r.later)
		defer r.close()
		p, err := readFrame(r.conn, answerMax)
		if err == nil {
			r.later <- p
			_, _ = r.conn.Read(make([]byte, 1)) // nothing more is ever said
		}
	}()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-r.gone:
			return
		case <-beat.C:
			if r.Say(nil) != nil {
				return
			}
		}
	}
}

// Hear waits for what the client says after its request; nil: it is gone, or has said
// nothing for so long.
func (r *Request) Hear(wait time.Duration) []byte {
	select {
	case p := <-r.later:
		return p
	case <-time.After(wait):
		return nil
	}
}

// Attended is a context that ends when the client has gone, or may have lost its
// patience. A process that was stopped meanwhile finds it ended, whichever of its
// goroutines runs first.
func (r *Request) Attended(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.gone:
		case <-ctx.Done():
		}
		cancel()
	}()
	return attended{ctx, r}, cancel
}

type attended struct {
	context.Context
	request *Request
}

// Err looks at the time as well.
func (a attended) Err() error {
	if err := a.Context.Err(); err != nil {
		return err
	}
	a.request.mu.Lock()
	defer a.request.mu.Unlock()
	if a.request.closed || time.Since(a.request.heard) > then/2 {
		return context.Canceled
	}
	return nil
}
