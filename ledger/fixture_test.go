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
	data, err := encodeRecord(r)
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
	s, err := look(write(t, "s.jsonl", text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// look opens a session by itself.
func look(path string) (*Session, error) {
	var sessions Sessions
	return sessions.Open(path)
}

type recordData struct {
	Version   int      `json:"v"`
	Snapshots []string `json:"snapshots"`
	Bindings  [][2]any `json:"bindings,omitempty"`
	Current   *int     `json:"current,omitempty"`
	Undo      *int     `json:"undo,omitempty"`
}

type pendingData struct {
	Version int    `json:"v"`
	Current string `json:"current"`
	Undo    string `json:"undo,omitempty"`
}

// encodeRecord returns the data of an entry, version 2, as pi-rewind-hook writes
// it. A record that says nothing is ErrRecord: nobody writes those.
func encodeRecord(r Record) ([]byte, error) {
	switch {
	case r.Kind == ForkPending && !r.Current.IsZero():
		return json.Marshal(pendingData{recordVersion, r.Current.String(), r.Undo.String()})
	case r.Kind == Turn && len(r.Bindings) > 0:
		return encodeSnapshots(r)
	case r.Kind == Op && (len(r.Bindings) > 0 || !r.Current.IsZero() || !r.Undo.IsZero()):
		return encodeSnapshots(r)
	}
	return nil, fmt.Errorf("encode %q: empty or of no known kind: %w", r.Kind, ErrRecord)
}

func encodeSnapshots(r Record) ([]byte, error) {
	data := recordData{Version: recordVersion, Snapshots: []string{}}
	places := make(map[oid.ID]int)
	place := func(id oid.ID) int {
		i, ok := places[id]
		if !ok {
			i = len(data.Snapshots)
			places[id] = i
			data.Snapshots = append(data.Snapshots, id.String())
		}
		return i
	}
	for _, b := range r.Bindings {
		if b.Entry == "" || b.Snapshot.IsZero() {
			return nil, fmt.Errorf("encode %q: binding without entry or snapshot: %w", r.Kind, ErrRecord)
		}
		data.Bindings = append(data.Bindings, [2]any{b.Entry, place(b.Snapshot)})
	}
	if r.Kind == Op && !r.Current.IsZero() {
		i := place(r.Current)
		data.Current = &i
	}
	if r.Kind == Op && !r.Undo.IsZero() {
		i := place(r.Undo)
		data.Undo = &i
	}
	return json.Marshal(data)
}
