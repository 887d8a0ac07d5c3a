package acp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// A talk is a relay that takes note of its turns.
func talk() (*Relay, *[]string) {
	told := &[]string{}
	note := func(when string) func(Turn) {
		return func(t Turn) {
			*told = append(*told, fmt.Sprintf("%s %s %q %s %q", when, t.Agent, t.Session, t.Dir, t.Text))
		}
	}
	return &Relay{Agent: "a", Begins: note("begins"), Ends: note("ends")}, told
}

// says has one side say lines; "<" is the agent.
func says(t *testing.T, r *Relay, lines ...string) {
	t.Helper()
	for _, line := range lines {
		pass, text := r.ToAgent, line
		if rest, agent := strings.CutPrefix(line, "<"); agent {
			pass, text = r.ToEditor, rest
		}
		var out strings.Builder
		if err := pass(&out, strings.NewReader(text+"\n")); err != nil || out.String() != text+"\n" {
			t.Errorf("%q came out as %q: %v", text, out.String(), err)
		}
	}
}

func wants(t *testing.T, told *[]string, want ...string) {
	t.Helper()
	if got := strings.Join(*told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	*told = nil
}

func TestATurnOfVersion1EndsWithTheAnswerToItsPrompt(t *testing.T) {
	r, told := talk()
	says(t, r, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`,
		`<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"gem"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
		`<{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`)
	wants(t, told)
	says(t, r, `{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"image","data":"x"},{"type":"text","text":"fix it"},{"type":"text","text":"more"}]}}`)
	wants(t, told, `begins gem "s1" /w "fix it"`)
	says(t, r, `<{"jsonrpc":"2.0","id":"p","method":"fs/read_text_file","params":{"path":"/w/x"}}`, `{"jsonrpc":"2.0","id":"p","result":{"content":""}}`,
		`<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"state_update","state":"idle"}}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	wants(t, told)
	says(t, r, `<{"jsonrpc":"2.0","id":"p","result":{"stopReason":"cancelled"}}`)
	wants(t, told, `ends gem "s1" /w "fix it"`)
	says(t, r, `<{"jsonrpc":"2.0","id":"p","result":{"stopReason":"again"}}`)
	wants(t, told)
	// An error ends it too, and a session that was loaded is where the editor says.
	says(t, r, `{"jsonrpc":"2.0","id":7,"method":"session/load","params":{"sessionId":"s2","cwd":"/v"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"session/prompt","params":{"sessionId":"s2","prompt":[]}}`, `<{"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"log in"}}`)
	wants(t, told, `begins gem "s2" /v ""`, `ends gem "s2" /v ""`)
	if left := r.Left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	says(t, r, `{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s2","prompt":[]}}`)
	if left := r.Left(); len(left) != 1 || left[0].Session != "s2" {
		t.Errorf("left: %v", left)
	}
}

func TestATurnOfVersion2EndsWhenTheAgentRests(t *testing.T) {
	r, told := talk()
	says(t, r, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2}}`,
		`<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2,"info":{"name":"new"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w"}}`, `<{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`,
		`<{"jsonrpc":"2.0","id":2,"result":{"messageId":"m"}}`)
	wants(t, told, `begins new "s1" /w "go"`)
	state := func(s string) string {
		return `<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"state_update","state":"` + s + `"}}}`
	}
	says(t, r, state("running"), state("requires_action"), state("idle"), state("idle"))
	wants(t, told, `ends new "s1" /w "go"`)
	says(t, r, state("running"), state("idle")) // by itself
	wants(t, told, `ends new "s1" /w ""`)
}

func TestWhatCannotBeReadPasses(t *testing.T) {
	r, told := talk()
	says(t, r, "", "{", "null", "5", `"text"`, "[]", `[1,2]`, "\x00\xff\xfe", `{"id":{"a":1},"method":5,"params":[1]}`, "<{", "<\xff", `<{"id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/w","mcpServers":"no list"}}`, `<{"id":3,"result":{"sessionId":4}}`, strings.Repeat("[", 100000))
	wants(t, told)
	// One that is broken may be one that the agent understands.
	says(t, r, `{"id":1,"method":"session/prompt","params":{]`)
	wants(t, told, `begins a ""  ""`)
	says(t, r, `[{"id":5,"method":"session/prompt","params":{"sessionId":"s"}}]`, `<{"id":5,"result":{}}`)
	wants(t, told, `begins a "s"  ""`, `ends a "s"  ""`)
	// Fields of a type that nobody expects hide no others.
	says(t, r, `{"id":6,"method":"session/prompt","params":{"prompt":"words","sessionId":"s"}}`, `<{"id":6,"result":{"protocolVersion":"x"}}`)
	wants(t, told, `begins a "s"  ""`, `ends a "s"  ""`)
}

func TestEachByteIsPassedOnHoweverItComes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		text := make([]byte, random.IntN(300000))
		for i := range text {
			text[i] = "\n{}[]\":,\r\x00\xff abc"[random.IntN(15)]
			if random.IntN(50) != 0 && text[i] == '\n' {
				text[i] = 'n'
			}
		}
		r, _ := talk()
		from := []io.Reader{bytes.NewReader(text), iotest.HalfReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))}[random.IntN(3)]
		var out bytes.Buffer
		if err := r.ToAgent(&out, from); err != nil || !bytes.Equal(out.Bytes(), text) {
			t.Fatalf("%d bytes came out as %d: %v", len(text), out.Len(), err)
		}
	}
	r, _ := talk()
	var out bytes.Buffer
	broken := errors.New("broken")
	if err := r.ToEditor(&out, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken))); !errors.Is(err, broken) || out.String() != "a\nb" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// A huge prompt is no reason for memory without bounds, nor for a turn without a point.
func TestALineOfAnyLengthPassesAndIsKnownByItsBeginning(t *testing.T) {
	r, told := talk()
	says(t, r, `{"id":1,"method":"session/new","params":{"cwd":"/w"}}`, `<{"id":1,"result":{"sessionId":"s"}}`)
	head := `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"image","data":"`
	const size = 3 * lineMax
	from := io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, size), strings.NewReader("\"}]}}\n{\"id\":3}\n"))
	sink := &counter{largest: 0}
	if err := r.ToAgent(sink, from); err != nil || sink.all != int64(len(head)+size+15) {
		t.Fatalf("%d bytes of %d: %v", sink.all, len(head)+size+15, err)
	}
	if sink.largest > lineMax+128<<10 {
		t.Errorf("%d bytes were kept back", sink.largest)
	}
	wants(t, told, `begins a "s" /w ""`)
	says(t, r, `<{"id":2,"result":{"stopReason":"end_turn"}}`)
	wants(t, told, `ends a "s" /w ""`)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("0"), len(p))), nil }

type counter struct{ all, largest int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.all += int64(len(p))
	c.largest = max(c.largest, int64(len(p)))
	return len(p), nil
}

// Nothing is read that was not written: who writes waits for who reads.
func TestAWriterWaitsForTheReader(t *testing.T) {
	r, _ := talk()
	from, in := io.Pipe()
	out, to := io.Pipe()
	go func() { _ = to.CloseWithError(r.ToEditor(to, from)) }()
	written := make(chan int)
	go func() {
		n := 0
		for range 1000 {
			if _, err := in.Write([]byte(strings.Repeat("x", 10000) + "\n")); err != nil {
				break
			}
			n++
			select {
			case written <- n:
			default:
			}
		}
		in.Close()
	}()
	last := 0
	for waiting := true; waiting; {
		select {
		case last = <-written:
		case <-time.After(300 * time.Millisecond):
			waiting = false
		}
	}
	if last > 20 {
		t.Errorf("%d lines were taken, and nobody has read one", last)
	}
	if all, err := io.ReadAll(out); err != nil || len(all) != 1000*10001 {
		t.Errorf("%d bytes, %v", len(all), err)
	}
}

// The point is made before the agent has the prompt, and before the editor knows the end.
func TestAPointComesBeforeTheLineThatTells(t *testing.T) {
	r := &Relay{}
	var out bytes.Buffer
	r.Begins = func(Turn) {
		if out.Len() > 0 {
			t.Errorf("the agent has %q already", out.String())
		}
	}
	r.Ends = r.Begins
	for range 2 {
		_ = r.ToAgent(&out, strings.NewReader(`{"id":1,"method":"session/prompt","params":{}}`+"\n"))
		out.Reset()
		_ = r.ToEditor(&out, strings.NewReader(`{"id":1,"result":{}}`+"\n"))
		out.Reset()
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}`), []byte(`{"id":1,"result":{}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r, _ := talk()
		for _, way := range []func(io.Writer, io.Reader) error{r.ToAgent, r.ToEditor} {
			for _, text := range [][]byte{a, b} {
				var out bytes.Buffer
				if err := way(&out, bytes.NewReader(text)); err != nil || !bytes.Equal(out.Bytes(), text) {
					t.Fatalf("%q came out as %q: %v", text, out.Bytes(), err)
				}
			}
		}
	})
}
