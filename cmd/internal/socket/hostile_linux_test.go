package socket

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pretending listens where a listener would, and does what f does with who comes.
func pretending(t *testing.T, f func(net.Conn)) (run, dir string) {
	t.Helper()
	run, dir = runtime(t), t.TempDir()
	p := place(t, run, true)
	defer p.Close()
	key, err := Key(dir)
	must(t, err)
	l, err := net.Listen("unix", p.at(socketName(key, "p")))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for f != nil {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f(c)
		}
	}()
	return run, dir
}

func TestWhoeverDoesNotAnswerIsLeft(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	giant := binary.BigEndian.AppendUint32(nil, answerMax+1)
	for what, f := range map[string]func(net.Conn){
		"silence":         func(c net.Conn) { <-hold; c.Close() },
		"an early end":    func(c net.Conn) { c.Close() },
		"half an answer":  func(c net.Conn) { c.Write([]byte{0, 0, 0, 9, 'x'}); c.Close() },
		"a giant answer":  func(c net.Conn) { c.Write(giant); <-hold },
		"nobody accepts":  nil,
		"signs, then end": func(c net.Conn) { c.Write(make([]byte, 40)); c.Close() },
	} {
		run, dir := pretending(t, f)
		c, err := dial(t, run, dir, "p")
		must(t, err)
		_ = c.Send([]byte("x"))
		if said, err := c.Next(); err == nil {
			t.Errorf("%s: %q", what, said)
		}
	}
}

func TestAnswersWithoutEndAreRefused(t *testing.T) {
	run, dir := pretending(t, func(c net.Conn) {
		for writeFrame(c, make([]byte, 1<<20), time.Minute) == nil {
		}
	})
	c, err := dial(t, run, dir, "p")
	must(t, err)
	c.patience = time.Minute // that a machine is busy is no fault
	for n := 0; ; n++ {
		if _, err := c.Next(); err != nil {
			if !errors.Is(err, ErrNone) || n != answerMax>>20 {
				t.Errorf("%v after %d MiB", err, n)
			}
			return
		}
	}
}

func TestAFullQueueIsNotWaitedFor(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	p := place(t, run, true)
	defer p.Close()
	key, err := Key(dir)
	must(t, err)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: p.at(socketName(key, "p"))}), unix.Listen(fd, 1))
	for range 10 {
		if _, err := dial(t, run, dir, "p"); err != nil {
			if !errors.Is(err, ErrNone) || !errors.Is(err, unix.EAGAIN) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("ten clients found room in a queue of one")
}

func TestBadClientsHinderNobody(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	l := serving(t, run, dir, func(ctx context.Context, r *Request) {
		if string(r.Body) == "panic" {
			panic("as asked")
		}
		echo(ctx, r)
	})
	for _, text := range []string{"", "x", "\x00\x00\x00\x09half", "\xff\xff\xff\xff and so on", "\x00\x10\x00\x01", "\x00\x00\x00\x05panic", strings.Repeat("x", 100_000)} {
		c, err := net.Dial("unix", l.place.at(l.name))
		must(t, err)
		defer c.Close()
		_, _ = io.WriteString(c, text) // and stays
	}
	if got := ask(t, run, dir, "now"); got != "heard now" {
		t.Error(got)
	}
	var many []net.Conn
	for range 2 * clientsMax {
		if c, err := net.Dial("unix", l.place.at(l.name)); err == nil {
			many = append(many, c)
		}
	}
	for _, c := range many {
		c.Close()
	}
	for range 500 {
		c, err := dial(t, run, dir, "p")
		must(t, err, c.Send([]byte("again")))
		if said, err := c.Next(); err == nil {
			if string(said) != "heard again" {
				t.Error(string(said))
			}
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("after many clients nobody is answered any more")
}

func TestAnAnswerThatTakesLongIsWaitedFor(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	serving(t, run, dir, func(ctx context.Context, r *Request) {
		time.Sleep(patience + patience/2)
		echo(ctx, r)
	})
	c, err := dial(t, run, dir, "p")
	must(t, err, c.Send([]byte("slow")))
	if said, err := c.Next(); string(said) != "heard slow" {
		t.Errorf("%q, %v", said, err)
	}
}

func TestTheWorkEndsWithItsClient(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	begun, ended := make(chan struct{}), make(chan error, 1)
	serving(t, run, dir, func(ctx context.Context, r *Request) {
		ctx, cancel := r.Attended(ctx)
		defer cancel()
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
	})
	c, err := dial(t, run, dir, "p")
	must(t, err, c.Send([]byte("x")))
	<-begun
	c.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWhoWasStoppedTakesTheClientForGone(t *testing.T) {
	r := &Request{gone: make(chan struct{}), heard: time.Now()}
	ctx, cancel := r.Attended(context.Background())
	defer cancel()
	if err := ctx.Err(); err != nil {
		t.Error(err)
	}
	r.heard = time.Now().Add(-then) // nothing else has run since
	if err := ctx.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("long without a sign: %v", err)
	}
}

func TestWhatAKilledProcessLeavesIsInNobodysWay(t *testing.T) {
	run, dir, other := runtime(t), t.TempDir(), t.TempDir()
	for _, at := range []string{dir, other} {
		cmd, line := role(t, 0, "SOCKET_TEST_ROLE=serve", "SOCKET_TEST_PATH="+run, "SOCKET_TEST_DIR="+at)
		if line != "ready, told: true" {
			t.Fatal(line)
		}
		if got := ask(t, run, at, "x"); got != "heard x" {
			t.Error(got)
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	if _, err := dial(t, run, dir, "p"); !errors.Is(err, ErrNone) {
		t.Errorf("of a process that is dead: %v", err)
	}
	l := serving(t, run, dir, echo)
	if got := ask(t, run, dir, "y"); got != "heard y" {
		t.Error(got)
	}
	must(t, l.Close())
	if list, _ := os.ReadDir(filepath.Join(run, "rewind")); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}
