package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A served is a real `rewind serve --stdio` with its pipes.
type served struct {
	t     failing
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	lines *bufio.Reader
	id    int
	notes []served1

	mu    sync.Mutex // guards what follows
	asked map[string][]byte
}

// A failing is what a test and a script have to say that they failed.
type failing interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Cleanup(func())
}

type served1 struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Exit int }
	}
}

// newServed starts a server and shakes hands for the directory.
func newServed(t *testing.T, dir string) *served {
	t.Helper()
	return serveAt(t, dir, home(t)...)
}

// serveAt is newServed with this process's environment and more.
func serveAt(t *testing.T, dir string, more ...string) *served {
	t.Helper()
	return serveAs(t, exec.Command("rewind", "serve", "--stdio"), dir, more...)
}

// serveAs is serveAt for a command that starts the server.
func serveAs(t failing, cmd *exec.Cmd, dir string, more ...string) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd, asked: map[string][]byte{}}
	s.cmd.Env = append(os.Environ(), more...)
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewReader(s.out)
	t.Cleanup(func() { s.in.Close(); s.out.Close(); s.cmd.Wait() })
	if dir != "" {
		s.must("initialize", map[string]any{"protocol": 1, "dir": dir, "client": "test"})
	}
	return s
}

// send writes a request and returns its id.
func (s *served) send(method string, params any) int {
	s.t.Helper()
	s.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.asked[strconv.Itoa(s.id)] = line
	s.mu.Unlock()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.t.Fatal(err)
	}
	return s.id
}

// answer returns the next answer; notifications before it are kept.
func (s *served) answer() (m served1) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadBytes('\n')
		if err != nil {
			s.t.Fatalf("no answer: %v", err)
		}
		m = served1{}
		if err := json.Unmarshal(line, &m); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		s.checked(line, m)
		if m.Method == "" {
			return m
		}
		s.notes = append(s.notes, m)
	}
}

// must sends a request whose answer is a result, and decodes it.
func (s *served) must(method string, params any) map[string]any {
	s.t.Helper()
	id := s.send(method, params)
	m := s.answer()
	if m.Error != nil || string(m.ID) != fmt.Sprint(id) {
		s.t.Fatalf("%s: id %s, %+v", method, m.ID, m.Error)
	}
	out := map[string]any{}
	if err := json.Unmarshal(m.Result, &out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *served) fails(code int, method string, params any) {
	s.t.Helper()
	s.send(method, params)
	if m := s.answer(); m.Error == nil || m.Error.Code != code {
		s.t.Fatalf("%s: want error %d, got %s %+v", method, code, m.Result, m.Error)
	}
}

func TestServePinsAndFindsPoints(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	s := newServed(t, dir)
	put(t, dir, "a", "one\n")
	id := s.must("snapshot", nil)["id"].(string)
	s.must("pin", map[string]any{"id": id, "name": "before the change"})
	s.fails(1, "pin", map[string]any{"id": id})
	for i := range 3 {
		put(t, dir, "a", fmt.Sprint(i))
		s.must("snapshot", nil)
	}
	s.must("prune", map[string]any{"maxSnapshots": 1})
	gone := strings.Repeat("1", 40)
	there := s.must("exists", map[string]any{"ids": []string{gone, id, "short"}})
	if got := fmt.Sprintln(there["ids"], there["branches"], there["here"]); got != "["+id+"] map["+id+":main] main\n" {
		t.Errorf("a pinned snapshot after a prune: %s", got)
	}
	session := filepath.Join(t.TempDir(), "s.jsonl")
	put(t, filepath.Dir(session), "s.jsonl", strings.Join([]string{
		`{"type":"session","version":3,"id":"S","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}`,
		`{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hi"}}`,
		`{"type":"custom","customType":"rewind-turn","id":"c1","parentId":"u1","timestamp":"2026-01-01T00:00:00.000Z","data":{"v":2,"snapshots":["` + id + `","` + gone + `"],"bindings":[["u1",0],["u2",1]]}}`,
		`{"type":"custom","customType":"rewind-fork-pending","id":"c2","parentId":"c1","timestamp":"2026-01-01T00:00:00.000Z","data":{"v":2,"current":"` + id + `","undo":"` + gone + `"}}`,
	}, "\n")+"\n")
	got := s.must("points", map[string]any{"file": session})
	if fmt.Sprint(got["points"]) != "map[u1:"+id+"]" || fmt.Sprint(got["pending"]) != "map[current:"+id+"]" {
		t.Errorf("points %v", got)
	}
	if got := fmt.Sprint(s.must("pins", nil)["pins"]); got != "map[before the change:"+id+"]" {
		t.Errorf("pins %s", got)
	}
	s.must("pin", map[string]any{"name": "before the change", "remove": true})
	if got := fmt.Sprint(s.must("pins", nil)["pins"]); got != "map[]" {
		t.Errorf("pins after the last one was removed: %s", got)
	}
}

func TestServeCancelsASnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 3000 {
		put(t, dir, fmt.Sprint("f", i), strings.Repeat("x", i))
	}
	s := newServed(t, dir)
	id := s.send("snapshot", nil)
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","method":"cancel","params":{"id":%d}}`+"\n", id)
	switch m := s.answer(); {
	case m.Error == nil:
		t.Log("the snapshot was faster than the cancellation")
	case m.Error.Code != -32097:
		t.Errorf("%+v", m.Error)
	}
	if got := s.must("snapshot", nil); got["changed"] == nil {
		t.Errorf("after a cancelled snapshot: %v", got)
	}
	s.fails(1, "snapshot", map[string]any{"deadlineMs": 0.001, "label": "too late"})
	if list := s.must("list", nil)["snapshots"].([]any); len(list) != 1 {
		t.Errorf("%d snapshots; the late one must not be there", len(list))
	}
}

func TestServeEndsWithItsClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newServed(t, dir)
	s.out.Close() // nobody reads any more, as after a crash of the client
	s.send("status", nil)
	end := make(chan error, 1)
	go func() { end <- s.cmd.Wait() }()
	select {
	case err := <-end:
		if err != nil {
			t.Errorf("end: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server lives on")
	}
}

func TestTwoServersOnOneStore(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "a", "start")
	one, two := newServed(t, dir), newServed(t, dir)
	var wg sync.WaitGroup
	ids := make([]map[string]bool, 2)
	for i, s := range []*served{one, two} {
		ids[i] = map[string]bool{}
		wg.Go(func() {
			for n := range 20 {
				put(t, dir, fmt.Sprintf("%d-%d", i, n), "x")
				ids[i][s.must("snapshot", nil)["id"].(string)] = true
			}
		})
	}
	wg.Wait()
	for i, s := range []*served{two, one} { // each finds what the other made
		for id := range ids[i] {
			if got := s.must("exists", map[string]any{"ids": []string{id}})["ids"].([]any); len(got) != 1 {
				t.Errorf("snapshot %s of the other is not there", id)
			}
		}
	}
	if st := one.must("status", nil); st["pending"] != 0.0 {
		t.Errorf("status %v", st)
	}
}
