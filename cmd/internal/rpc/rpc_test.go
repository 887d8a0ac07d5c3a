package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A client talks to a server over pipes.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

func start(t *testing.T, handle Handler) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1)}
	go func() {
		err := Serve(context.Background(), inR, outW, handle)
		outW.Close()
		c.done <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	go func() {
		for _, l := range lines {
			io.WriteString(c.in, l+"\n")
		}
	}()
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

func (c *client) next() (m message) {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("no message: %v", err)
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.t.Fatalf("not JSON: %q", line)
	}
	return m
}

func request(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, id, method)
}

func echo(_ context.Context, r *Request) (any, error) { return r.Method, nil }

func TestRequestsAreAnsweredInOrder(t *testing.T) {
	var mu sync.Mutex
	running := 0
	c := start(t, func(_ context.Context, r *Request) (any, error) {
		mu.Lock()
		running++
		if running > 1 {
			t.Error("two requests at once")
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		return r.Method, nil
	})
	var lines []string
	for i := range 200 {
		lines = append(lines, request(i, "m"))
	}
	c.send(lines...)
	for i := range 200 {
		if m := c.next(); string(m.ID) != fmt.Sprint(i) {
			t.Fatalf("answer %d has id %s", i, m.ID)
		}
	}
}

func TestCancelOvertakesAndIsAnswered(t *testing.T) {
	begun := make(chan struct{})
	c := start(t, func(ctx context.Context, r *Request) (any, error) {
		if r.Method != "long" {
			return "done", nil
		}
		close(begun)
		<-ctx.Done()
		return nil, fmt.Errorf("stopped: %w", ctx.Err())
	})
	c.send(request(1, "long"), request(2, "waiting"), request(3, "short"))
	<-begun
	c.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":2}}`, `{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}`)
	for id := 1; id <= 2; id++ {
		if m := c.next(); string(m.ID) != fmt.Sprint(id) || m.Error == nil || m.Error.Code != CodeCancelled {
			t.Fatalf("request %d: %+v", id, m)
		}
	}
	if m := c.next(); string(m.Result) != `"done"` {
		t.Fatalf("the request after a cancelled one: %+v", m)
	}
}

func TestCancelOfNothingIsIgnored(t *testing.T) {
	c := start(t, echo)
	c.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":9}}`, `{"jsonrpc":"2.0","method":"cancel"}`, `{"jsonrpc":"2.0","method":"cancel","params":[]}`, request(1, "m"))
	if m := c.next(); string(m.ID) != "1" || m.Error != nil {
		t.Fatalf("%+v", m)
	}
}

func TestMalformedMessagesAreAnsweredWithErrors(t *testing.T) {
	for _, tc := range []struct {
		line, id string
		code     int
	}{
		{`nonsense`, "null", CodeParse},
		{`{"jsonrpc":"2.0","id":1,"method":"m"`, "null", CodeParse},
		{"\xff\xfe\x00", "null", CodeParse},
		{strings.Repeat("[", 100_000), "null", CodeParse},
		{`[]`, "null", CodeInvalid},
		{`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, "null", CodeInvalid},
		{`"text"`, "null", CodeInvalid},
		{`{}`, "null", CodeInvalid},
		{`{"jsonrpc":"2.0","id":{},"method":"m"}`, "null", CodeInvalid},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, "null", CodeInvalid},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, "null", CodeInvalid},
		{`{"jsonrpc":"2.0","id":3,"method":7}`, "null", CodeInvalid},
		{`{"jsonrpc":"2.0","id":4}`, "4", CodeInvalid},
		{`{"jsonrpc":"1.0","id":5,"method":"m"}`, "5", CodeInvalid},
		{`{"jsonrpc":"2.0","id":"six","method":"m","params":[1]}`, `"six"`, CodeParams},
	} {
		c := start(t, echo)
		c.send(tc.line, request(99, "after"))
		if m := c.next(); string(m.ID) != tc.id || m.Error == nil || m.Error.Code != tc.code {
			t.Errorf("%.60q: answer %s %+v", tc.line, m.ID, m.Error)
		}
		if m := c.next(); string(m.ID) != "99" || m.Error != nil {
			t.Errorf("after %.60q: %+v", tc.line, m)
		}
	}
}

func TestEmptyLinesAndNotificationsAskForNothing(t *testing.T) {
	c := start(t, echo)
	c.send("", "  \r", `{"jsonrpc":"2.0","method":"whatever"}`, request(1, "m")+"\r")
	if m := c.next(); string(m.ID) != "1" {
		t.Fatalf("%+v", m)
	}
}

func TestIDInUseIsRefused(t *testing.T) {
	hold := make(chan struct{})
	c := start(t, func(context.Context, *Request) (any, error) { <-hold; return "x", nil })
	c.send(request(1, "a"), request(1, "b"))
	if m := c.next(); m.Error == nil || m.Error.Code != CodeInvalid {
		t.Fatalf("%+v", m)
	}
	close(hold)
	if m := c.next(); string(m.Result) != `"x"` {
		t.Fatalf("%+v", m)
	}
	c.send(request(1, "again"))
	if m := c.next(); string(m.Result) != `"x"` {
		t.Fatalf("an id that was answered: %+v", m)
	}
}

func TestHugeLines(t *testing.T) {
	c := start(t, func(_ context.Context, r *Request) (any, error) { return len(r.Params), nil })
	text := strings.Repeat("x", 8<<20)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"%s"}}`, text), strings.Repeat("y", messageBytesMax+2), request(2, "m"))
	first, second, third := c.next(), c.next(), c.next()
	if second.Error == nil { // what is refused is answered at once
		first, second = second, first
	}
	if string(first.Result) != fmt.Sprint(len(text)+len(`{"text":""}`)) {
		t.Errorf("a line of 8 MiB: %+v", first)
	}
	if second.Error == nil || second.Error.Code != CodeInvalid {
		t.Errorf("a line that is too long: %+v", second)
	}
	if string(third.ID) != "2" {
		t.Errorf("the line after it: %+v", third)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	c := start(t, func(_ context.Context, r *Request) (any, error) {
		switch r.Method {
		case "own":
			return nil, fmt.Errorf("wrapped: %w", &Error{Code: 3, Message: "no such snapshot", Data: 7})
		case "decode":
			var p struct{ N int }
			return nil, r.Decode(&p)
		case "nothing":
			return nil, nil
		case "unencodable":
			return func() {}, nil
		}
		return nil, errors.New("plain")
	})
	c.send(request(1, "own"), request(2, "other"), `{"jsonrpc":"2.0","id":3,"method":"decode","params":{"n":"x"}}`, request(4, "nothing"), request(5, "unencodable"))
	for id, code := range []int{3, 1, CodeParams, 0, 1} {
		m := c.next()
		if code == 0 && string(m.Result) != "{}" || code != 0 && (m.Error == nil || m.Error.Code != code) {
			t.Errorf("request %d: %+v %+v", id+1, m, m.Error)
		}
	}
}

func TestNotificationsComeBeforeTheAnswer(t *testing.T) {
	c := start(t, func(_ context.Context, r *Request) (any, error) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { r.Notify("progress", map[string]int{"n": 1}) })
		}
		wg.Wait()
		return "x", nil
	})
	c.send(request(1, "m"))
	for range 20 {
		if m := c.next(); m.Method != "progress" || m.ID != nil {
			t.Fatalf("%+v", m)
		}
	}
	if m := c.next(); string(m.ID) != "1" {
		t.Fatalf("%+v", m)
	}
}

func TestWhoTellsOfHisProgressDoesNotWaitForAClientThatDoesNotRead(t *testing.T) {
	done := make(chan struct{})
	c := start(t, func(_ context.Context, r *Request) (any, error) {
		if r.Method == "other" {
			return "y", nil
		}
		for n := range 100 {
			r.Progress("progress", map[string]int{"n": n})
		}
		close(done)
		return "x", nil
	})
	c.send(request(1, "m"))
	<-done // nothing was read so far, and a pipe of this kind holds nothing
	for last := -1; ; {
		m := c.next()
		if string(m.ID) == "1" {
			break
		}
		var p struct{ N int }
		if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "progress" || p.N <= last {
			t.Fatalf("%+v after %d: %v", m, last, err)
		}
		last = p.N
	}
	c.send(request(2, "other"))
	if m := c.next(); string(m.ID) != "2" {
		t.Fatalf("after the answer: %+v", m)
	}
}

func TestEndOfInputFinishesWhatCameBefore(t *testing.T) {
	var out strings.Builder
	in := strings.NewReader(request(1, "a") + "\n" + request(2, "b")) // the last line has no end
	if err := Serve(context.Background(), in, &out, echo); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Fatalf("%d answers: %s", n, &out)
	}
}

// lines is an input of so many equal lines with ids, which counts what was read of it.
type lines struct {
	n    int
	text string
	rest []byte
	read atomic.Int64
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.n == 0 {
			return 0, io.EOF
		}
		l.n--
		l.rest = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m","params":{"text":"%s"}}`+"\n", l.n, l.text)
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	l.read.Add(int64(n))
	return n, nil
}

func TestRequestsThatWaitTakeSoMuchMemoryAndNoMore(t *testing.T) {
	const requests = 24
	in := &lines{n: requests, text: strings.Repeat("x", messageBytesMax/4)}
	begun, hold, done := make(chan struct{}, requests), make(chan struct{}), make(chan error)
	answers := &strings.Builder{}
	go func() {
		done <- Serve(context.Background(), in, answers, func(context.Context, *Request) (any, error) {
			begun <- struct{}{}
			<-hold
			return "x", nil
		})
	}()
	<-begun
	for last := int64(-1); in.read.Load() != last; time.Sleep(200 * time.Millisecond) { // until it reads no more
		last = in.read.Load()
	}
	if n := in.read.Load(); n > waitingBytesMax+messageBytesMax {
		t.Errorf("%d MiB were read of requests that wait", n>>20)
	}
	close(hold)
	if err := <-done; err != nil || strings.Count(answers.String(), "\n") != requests {
		t.Errorf("%v, %d answers", err, strings.Count(answers.String(), "\n"))
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestAClientThatIsGoneCancelsEverything(t *testing.T) {
	in, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, request(1, "m")+"\n"+request(2, "m")+"\n")
	calls := 0
	err := Serve(context.Background(), in, broken{}, func(ctx context.Context, r *Request) (any, error) {
		calls++
		r.Notify("progress", nil)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if !errors.Is(err, ErrGone) || calls != 1 {
		t.Fatalf("%v after %d calls", err, calls)
	}
}

func FuzzMessages(f *testing.F) {
	for _, s := range []string{request(1, "m"), `{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}`, "[]", "nonsense", request(1, "a") + "\n" + request(1, "b")} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out strings.Builder
		if err := Serve(context.Background(), strings.NewReader(string(in)), &out, echo); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("answer %q", line)
			}
		}
	})
}
