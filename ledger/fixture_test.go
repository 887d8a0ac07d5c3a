package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// id makes a snapshot id that is told from others by n.
func id(n int) oid.ID {
	v, err := oid.Parse(fmt.Sprintf("%040x", n+1))
	if err != nil {
		panic(err)
	}
	return v
}

type object map[string]any

// A script writes a session file the way Pi does: each entry below the last.
type script struct {
	lines []string
	leaf  any
	n     int
	clock time.Time
}

func newScript(parentSession string) *script {
	s := &script{clock: time.Date(2026, 4, 5, 12, 0, 0, 0, time.UTC)}
	h := object{"type": "session", "version": 3, "id": "0197-session", "timestamp": s.time(), "cwd": "/home/u/repo"}
	if parentSession != "" {
		h["parentSession"] = parentSession
	}
	s.line(h)
	return s
}

func (s *script) time() string {
	s.clock = s.clock.Add(time.Second)
	return s.clock.Format("2006-01-02T15:04:05.000Z")
}

func (s *script) line(v any) {
	p, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, string(p))
}

func (s *script) entry(kind string, more object) string {
	s.n++
	e := object{"type": kind, "id": fmt.Sprintf("%08x", s.n), "parentId": s.leaf, "timestamp": s.time()}
	for k, v := range more {
		e[k] = v
	}
	s.line(e)
	s.leaf = e["id"]
	return s.leaf.(string)
}

func (s *script) message(role string, content any) string {
	return s.entry("message", object{"message": object{"role": role, "content": content, "timestamp": s.clock.UnixMilli()}})
}

func (s *script) user(text string) string {
	return s.message("user", []object{{"type": "text", "text": text}})
}

func (s *script) assistant(tools ...string) string {
	parts := []object{{"type": "text", "text": "working"}}
	for _, t := range tools {
		parts = append(parts, object{"type": "toolCall", "id": "c1", "name": t, "arguments": object{"name": "no tool"}})
	}
	return s.message("assistant", parts)
}

func (s *script) record(r Record) string {
	data, err := r.Encode()
	if err != nil {
		panic(err)
	}
	return s.entry("custom", object{"customType": string(r.Kind), "data": json.RawMessage(data)})
}

func (s *script) label(target, label string) string {
	return s.entry("label", object{"targetId": target, "label": label})
}

func (s *script) text() string { return strings.Join(s.lines, "\n") + "\n" }

func write(t testing.TB, path, text string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.TempDir(), path)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, text string) *Session {
	t.Helper()
	s, err := Open(write(t, "s.jsonl", text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
