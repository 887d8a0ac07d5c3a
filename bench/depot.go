package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// What opens the repositories of a run, and the server that they are on. They are gone with it.
const (
	password  = "of-one-run-of-the-benchmark"
	serverKey = "AKIDOFTHEBENCHMARK"
	bucket    = "bench"
)

// A depot is where the repositories of a run are: in a directory, or behind a server that speaks S3.
type depot struct {
	dir   string   // where their files are
	url   string   // of which they are folders
	kind  string   // of the file system, and what stands before it
	env   []string // that opens them
	stop  func()
	asked func() int // how many requests there were; nil: nobody is asked
}

// openDepot makes one.
func openDepot(ctx context.Context, st *stage) (*depot, error) {
	d := &depot{dir: filepath.Join(st.dir, "depot"), kind: st.kind, env: []string{"RESTIC_PASSWORD=" + password}, stop: func() {}}
	d.url = d.dir
	if st.o.S3 == "" {
		return d, os.MkdirAll(d.dir, 0o700)
	}
	served := d.dir
	d.dir = filepath.Join(served, bucket)
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	front, err := newFront(st.o.Latency)
	if err != nil {
		return nil, err
	}
	if d.stop, err = front.before(ctx, st.o.S3, served); err != nil {
		return nil, err
	}
	d.url = "s3:http://" + front.listener.Addr().String() + "/" + bucket
	d.kind = fmt.Sprintf("S3 (%s on %s)", filepath.Base(st.o.S3), st.kind)
	if st.o.Latency > 0 {
		d.kind += fmt.Sprintf(", %v away", st.o.Latency)
	}
	d.env = append(d.env, "AWS_ACCESS_KEY_ID="+serverKey, "AWS_SECRET_ACCESS_KEY="+password, "AWS_EC2_METADATA_DISABLED=true")
	d.asked = func() int { return int(front.requests.Load()) }
	return d, nil
}

// A front stands before a server, as far away as is asked: half of the latency passes before it hands on what comes, in
// either direction. It counts requests.
type front struct {
	listener net.Listener
	latency  time.Duration
	server   string
	requests atomic.Int64
}

func newFront(latency time.Duration) (f *front, err error) {
	f = &front{latency: latency}
	f.listener, err = net.Listen("tcp", "127.0.0.1:0")
	return f, err
}

// before starts the server, on a directory, and stands before it until both are stopped.
func (f *front) before(ctx context.Context, program, dir string) (stop func(), err error) {
	defer func() {
		if err != nil {
			_ = f.listener.Close()
		}
	}()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f.server = free.Addr().String()
	_ = free.Close()
	var said said
	cmd := exec.CommandContext(ctx, program, "--port", f.server, "posix", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+serverKey, "ROOT_SECRET_KEY="+password)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	for range 1000 {
		if c, err := net.Dial("tcp", f.server); err == nil {
			_ = c.Close()
			go f.serve()
			return func() { _ = f.listener.Close(); end() }, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	end()
	return nil, fmt.Errorf("%s does not listen: %s", filepath.Base(program), &said)
}

func (f *front) serve() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.pass(c.(*net.TCPConn))
	}
}

// pass hands on what comes by one connection. To make it takes a round trip.
func (f *front) pass(client *net.TCPConn) {
	defer client.Close()
	c, err := net.Dial("tcp", f.server)
	if err != nil {
		return
	}
	server := c.(*net.TCPConn)
	defer server.Close()
	time.Sleep(f.latency)
	var both sync.WaitGroup
	both.Go(func() { f.move(server, client, &requestCount{front: f}) })
	both.Go(func() { f.move(client, server, nil) })
	both.Wait()
}

// late is what arrives later.
type late struct {
	due  time.Time
	data []byte
}

// move hands on what comes in one direction.
func (f *front) move(to, from *net.TCPConn, count *requestCount) {
	queue := make(chan late, 256)
	go func() {
		defer close(queue)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if count != nil {
				count.see(data[:n])
			}
			queue <- late{time.Now().Add(f.latency / 2), data[:n]}
			if err != nil {
				return
			}
		}
	}()
	for l := range queue { // to its end, also where nobody takes it
		time.Sleep(time.Until(l.due))
		_, _ = to.Write(l.data)
	}
	_ = to.CloseWrite()
}

// endOfRequest is how the first line of a request ends, and nothing else that a client sends: what it stores is
// encrypted.
const endOfRequest = " HTTP/1.1\r\n"

// requestCount counts requests in what one connection brings.
type requestCount struct {
	front *front
	tail  []byte // what may be the beginning of an end
}

func (r *requestCount) see(data []byte) {
	all := append(r.tail, data...)
	r.front.requests.Add(int64(bytes.Count(all, []byte(endOfRequest))))
	r.tail = bytes.Clone(all[max(0, len(all)-len(endOfRequest)+1):])
}
