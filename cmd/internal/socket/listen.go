package socket

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// A Listener is the side that serves a directory. It is the only one: as long as it
// is open, or its process lives, [Listen] reports [ErrTaken] to others.
type Listener struct {
	place *Place
	name  string
	file  fileID
	lock  string
	held  *durable.Held
	net   *net.UnixListener
	sight *sight // nil: nobody tells
}

// Serve carries out requests, each in a goroutine, until the context ends or the
// listener is closed, and returns when all have ended. A request has ended when
// handle returns.
func (l *Listener) Serve(ctx context.Context, handle func(context.Context, *Request)) {
	defer context.AfterFunc(ctx, func() { _ = l.net.Close() })()
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, clientsMax)
	for {
		conn, err := l.net.AcceptUnix()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		if err != nil { // no more files may be open: later
			time.Sleep(beatEvery)
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		all.Go(func() {
			defer func() { <-room }()
			serve(ctx, conn, handle)
		})
	}
}

// serve carries out what one client asks. Whatever goes wrong ends the connection,
// and the client does its work itself.
func serve(ctx context.Context, conn *net.UnixConn, handle func(context.Context, *Request)) {
	defer conn.Close()
	peer, err := ownPeer(conn)
	if err != nil || conn.SetReadDeadline(time.Now().Add(patience)) != nil {
		return
	}
	body, err := readFrame(conn, requestMax)
	if err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	r := &Request{Body: body, Peer: peer, conn: conn, gone: make(chan struct{}), later: make(chan []byte, 1), heard: time.Now(), left: answerMax}
	defer r.close()
	go r.live()
	defer func() { _ = recover() }() // of one request
	handle(ctx, r)
}

// Stands reports whether the socket is still where clients look for it.
func (l *Listener) Stands() bool {
	id, err := l.place.look(l.name)
	return err == nil && id == l.file && l.place.stands()
}

// Stirs is sent to when the socket, or the directory that it serves, may not be where it was; nil where nobody tells.
func (l *Listener) Stirs() <-chan struct{} {
	if l.sight == nil {
		return nil
	}
	return l.sight.stirs
}

// Close stops listening, and leaves no file behind.
func (l *Listener) Close() error {
	l.sight.end()
	err := l.net.Close()
	if l.Stands() {
		l.place.remove(l.name)
	}
	_ = durable.Remove(l.lock) // under the lock: who waits for it makes another one
	err = errors.Join(err, l.held.Unlock(), l.place.Close())
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
