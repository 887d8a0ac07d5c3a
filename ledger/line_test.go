package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// parseLine reads one line through a buffer of the given size.
func parseLine(text []byte, bufferBytes int) line {
	p := newParser(bytes.NewReader(text), 1, bufferBytes) // at 1: no byte order mark
	p.next()
	return p.line
}

// checkLine compares one line with encoding/json, and a small buffer with a
// large one.
func checkLine(t *testing.T, text []byte) {
	t.Helper()
	got := parseLine(text, scanBufferBytes)
	if small := parseLine(text, 1); fmt.Sprint(small) != fmt.Sprint(got) {
		t.Fatalf("%q: with a buffer of one byte %v, else %v", text, small, got)
	}
	var want map[string]any
	if strings.Trim(string(text), " \t\r") == "" {
		if !got.blank {
			t.Fatalf("%q: not blank", text)
		}
		return
	}
	valid := json.Valid(text) && json.Unmarshal(text, &want) == nil && want != nil
	if tooLong := strings.HasPrefix(got.bad, "id or path"); valid != (got.bad == "") && !tooLong {
		t.Fatalf("%q: bad = %q, encoding/json says valid = %v", text, got.bad, valid)
	}
	if got.bad != "" || !utf8.Valid(text) {
		return
	}
	for name, field := range map[string]string{"id": got.entry.ID, "parentId": got.entry.ParentID, "targetId": got.target, "cwd": got.cwd} {
		if s, _ := want[name].(string); s != field {
			t.Fatalf("%q: %s = %q, want %q", text, name, field, s)
		}
	}
	if s, _ := want["type"].(string); s != got.entry.Type && len(s) <= nameBytesMax {
		t.Fatalf("%q: type = %q, want %q", text, got.entry.Type, s)
	}
	message, _ := want["message"].(map[string]any)
	if s, _ := message["role"].(string); s != got.entry.Role && len(s) <= nameBytesMax {
		t.Fatalf("%q: role = %q, want %q", text, got.entry.Role, s)
	}
	if data, ok := want["data"]; ok {
		var v any
		if json.Unmarshal(text[got.data[0]-1:got.data[1]-1], &v) != nil || fmt.Sprint(v) != fmt.Sprint(data) {
			t.Fatalf("%q: data is not at %v", text, got.data)
		}
	}
}

var lineSeeds = []string{
	``, ` `, "\r", `{}`, `{ }`, ` {} `, "{}\r", `[]`, `null`, `1`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`,
	`{"a":}`, `{"a":[]}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":{"b":[{}]}}`, `{"a":]}`, `{"a":[}`, `{"a":{]}}`, `{}{}`, `{} x`,
	`{"a":tru}`, `{"a":true}`, `{"a":false,"b":null}`, `{"a":nul}`, `{"a":truex}`, `{"a":+1}`, `{"a":-}`, `{"a":-0}`, `{"a":01}`, `{"a":1.}`,
	`{"a":1.5e+10}`, `{"a":1e}`, `{"a":.5}`, `{"a":1E-2}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12G4"}`, `{"a":"\ud83d\ude00"}`,
	`{"id":"\ud83d\ude00","type":"\u006de\"ssage\\"}`, `{"id":"\ud83d"}`, `{"id":"\ude00\ud83d"}`, `{"id":"\ud83dx\ude00"}`, `{"id":"\ud83d\ud83d\ude00"}`,
	"{\"a\":\"\x01\"}", "{\"a\":\"\t\"}", "{\"a\":\"\xff\"}", "{\"id\":\"\xff\"}", "\xef\xbb\xbf{}", "{\x00}", "\x00", `{"\u0069d":"x"}`, `{"id":1,"id":"y"}`,
	`{"id":"y","id":null}`, `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x\ny"},"message":3}`,
	`{"message":{"role":"user","content":[{"type":"text","text":"p"},{"type":"toolCall","name":"bash","arguments":{"name":"no"}},7,[]]},"data":{"v":2}}`,
	`{"type":"custom","customType":"rewind-op","data": {"v":2,"snapshots":[],"x":"é"} ,"id":"1"}`, `{"targetId":"t","label":["x"],"cwd":{"a":1}}`,
}

func TestLinesAreReadAsEncodingJSONReadsThem(t *testing.T) {
	for _, text := range lineSeeds {
		checkLine(t, []byte(text))
		for cut := range len(text) {
			checkLine(t, []byte(text[:cut]))
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, text := range lineSeeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.IndexByte(text, '\n') < 0 {
			checkLine(t, text)
		}
	})
}

func TestPreviewIsTheFirstLineAndTools(t *testing.T) {
	long := strings.Repeat("é", textBytesMax)
	for _, c := range []struct{ line, text, tools string }{
		{`{"type":"message","message":{"role":"user","content":"\n  do it\r\nnow"}}`, "do it", "[]"},
		{`{"type":"message","message":{"content":[{"text":"a"},{"text":"b"}],"role":"user"}}`, "a", "[]"},
		{`{"type":"message","message":{"role":"user","content":"` + long + `"}}`, long[:textBytesMax], "[]"},
		{`{"type":"message","message":{"role":"user","content":"x` + long + `"}}`, "x" + long[:textBytesMax-2], "[]"},
		{`{"type":"message","message":{"role":"assistant","content":[{"name":"bash","type":"toolCall"},{"type":"toolCall","name":"edit"},{"type":"toolCall","name":"bash"},{"type":"text","name":"no"}]}}`, "", "[bash edit]"},
		{`{"type":"message","message":{"role":"toolResult","toolName":"bash","content":[{"type":"text","text":"out"}]}}`, "", "[bash]"},
		{`{"type":"message","message":{"role":"bashExecution","command":"ls"}}`, "ls", "[]"},
		{`{"type":"message","message":{"content":"old","role":"user","content":[{"text":"new"}]}}`, "new", "[]"},
		{`{"type":"message","message":{"content":"old"},"message":{"role":"user"}}`, "", "[]"},
		{`{"type":"compaction","summary":"so far"}`, "so far", "[]"},
		{`{"type":"session_info","name":"my session"}`, "my session", "[]"},
	} {
		l := parseLine([]byte(c.line), scanBufferBytes)
		if l.bad != "" || l.entry.Text != c.text || fmt.Sprint(l.entry.Tools) != c.tools {
			t.Errorf("%s: %q %q %v", c.line, l.bad, l.entry.Text, l.entry.Tools)
		}
	}
}

// repeated yields head, then body over and over, then tail, without holding it.
func repeated(head, body string, n int64, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(&cycle{body: body}, n*int64(len(body))), strings.NewReader(tail))
}

type cycle struct {
	body string
	at   int
}

func (c *cycle) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], c.body[c.at:])
		n, c.at = n+m, (c.at+m)%len(c.body)
	}
	return n, nil
}

func TestAHugeLineCostsOneBuffer(t *testing.T) {
	const size = 64 << 20
	for name, body := range map[string]string{"string": strings.Repeat("x", 1<<16), "escapes": strings.Repeat(`\n`, 1<<15)} {
		src := repeated(`{"type":"message","id":"a","message":{"role":"user","content":"first\nrest`, body, size>>16, `"},"parentId":"b"}`+"\n"+`{"id":"c"}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := newParser(src, 1, scanBufferBytes)
		if !p.next() || p.line.bad != "" || p.line.entry.ID != "a" || p.line.entry.ParentID != "b" || p.line.entry.Text != "first" {
			t.Fatalf("%s: %v", name, p.line)
		}
		if !p.next() || p.line.entry.ID != "c" {
			t.Fatalf("%s: the next line is lost", name)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
			t.Errorf("%s: a line of %d bytes took %d bytes of memory", name, int64(size), used)
		}
	}
}

func TestDeepNestingIsReadOrNamed(t *testing.T) {
	nested := func(depth int64) line {
		tail := strings.Repeat("]", int(depth)) + `,"id":"a"}`
		p := newParser(repeated(`{"x":`, "[", depth, tail), 1, scanBufferBytes)
		p.next()
		return p.line
	}
	if l := nested(nestingMax); l.bad != "" || l.entry.ID != "a" {
		t.Errorf("%q", l.bad)
	}
	if l := nested(nestingMax + 1); l.bad != "nested too deeply" {
		t.Errorf("%q", l.bad)
	}
}

func TestAReadErrorIsNoTornLine(t *testing.T) {
	p := newParser(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(`{"id":"a"}`))), 1, 4)
	if p.next() || p.failed() != iotest.ErrTimeout {
		t.Errorf("line %v, error %v", p.line, p.failed())
	}
}
