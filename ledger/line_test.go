package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// checkLine compares one line with what encoding/json reads.
func checkLine(t *testing.T, text []byte) {
	t.Helper()
	p := newParser()
	err := p.parse(text)
	got := p.line
	var want map[string]any
	valid := json.Unmarshal(text, &want) == nil && want != nil
	if valid != (err == nil) {
		t.Fatalf("%q: %v, encoding/json says valid = %v", text, err, valid)
	}
	if err != nil || !utf8.Valid(text) {
		return
	}
	message, _ := want["message"].(map[string]any)
	for name, is := range map[string][2]any{
		"id": {want["id"], got.entry.ID}, "parentId": {want["parentId"], got.entry.ParentID}, "targetId": {want["targetId"], got.target},
		"cwd": {want["cwd"], got.cwd}, "type": {want["type"], got.entry.Type}, "role": {message["role"], got.entry.Role},
	} {
		if s, _ := is[0].(string); s != is[1] {
			t.Fatalf("%q: %s = %q, want %q", text, name, is[1], s)
		}
	}
	if data, ok := want["data"]; ok {
		var v any
		if json.Unmarshal(got.data, &v) != nil || fmt.Sprint(v) != fmt.Sprint(data) {
			t.Fatalf("%q: data is not %s", text, got.data)
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

func TestPreviewIsTheFirstLine(t *testing.T) {
	long := strings.Repeat("é", textBytesMax)
	for _, c := range []struct{ line, text string }{
		{`{"type":"message","message":{"role":"user","content":"\n  do it\r\nnow"}}`, "do it"},
		{`{"type":"message","message":{"content":[{"text":"a"},{"text":"b"}],"role":"user"}}`, "a"},
		{`{"type":"message","message":{"role":"user","content":"` + long + `"}}`, long[:textBytesMax]},
		{`{"type":"message","message":{"role":"user","content":"x` + long + `"}}`, "x" + long[:textBytesMax-2]},
		{`{"type":"message","message":{"role":"toolResult","toolName":"bash","content":[{"type":"text","text":"out"}]}}`, ""},
		{`{"type":"message","message":{"role":"bashExecution","command":"ls"}}`, "ls"},
		{`{"type":"message","message":{"content":"old","role":"user","content":[{"text":"new"}]}}`, "new"},
		{`{"type":"message","message":{"content":"old"},"message":{"role":"user"}}`, ""},
		{`{"type":"compaction","summary":"so far"}`, "so far"},
		{`{"type":"session_info","name":"my session"}`, "my session"},
	} {
		p := newParser()
		if err := p.parse([]byte(c.line)); err != nil || p.line.entry.Text != c.text {
			t.Errorf("%s: %q %v", c.line, p.line.entry.Text, err)
		}
	}
}

// A line that is too long to be held says nothing but the ids that stand in it, wherever
// that is; and what comes behind it is read.
func TestALineTooLongToBeHeldHidesNothing(t *testing.T) {
	s := newScript("")
	s.user(strings.Repeat("x", lineBytesMax) + " " + id(7).String())
	last := s.user("next")
	session := open(t, s.text())
	if leaf, _ := session.Leaf(); leaf.ID != last || len(session.entries) != 1 || len(session.mentioned) != 1 || session.mentioned[0] != id(7) {
		t.Errorf("%d entries, mentioned %v", len(session.entries), session.mentioned)
	}
	r := newLineReader(io.LimitReader(endless('x'), 2*lineBytesMax))
	if !r.next() || len(r.text) != lineBytesMax+1 || cap(r.text) > 3*lineBytesMax/2 || r.next() || r.err != nil {
		t.Errorf("%d bytes are held, %v", len(r.text), r.err)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestAReadErrorIsNoTornLine(t *testing.T) {
	r := newLineReader(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(`{"id":"a"}`))))
	if r.next() || r.err != iotest.ErrTimeout {
		t.Errorf("line %q, error %v", r.text, r.err)
	}
}
