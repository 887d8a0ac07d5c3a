//go:build linux

package fuzz

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// Conversations are session files of an agent, and what a model knows of them.
type conversations struct {
	agent string
	all   []*conversation
	named map[oid.ID]map[string]bool // the sessions that a snapshot has a point of
}

// A conversation is one session file.
type conversation struct {
	id, path string
	gone     bool // the file was deleted
	parent   *conversation
	lines    int
	last     string // its last entry
	clock    int

	bound         map[string]oid.ID // by entry
	labels        map[string]bool
	current, undo oid.ID // of the last operation
	newest        oid.ID // the last point, or the files of a later operation
	pending       oid.ID
}

// recorded notes that a snapshot was taken for a session.
func (c *conversations) recorded(id oid.ID, session string) {
	if c.named[id] == nil {
		c.named[id] = map[string]bool{}
	}
	c.named[id][session] = true
}

// needs says of snapshots why no prune may drop them.
func (c *conversations) needs() map[oid.ID]string {
	why := map[oid.ID]string{}
	add := func(id oid.ID, reason string) {
		if !id.IsZero() && why[id] == "" {
			why[id] = reason
		}
	}
	gone := map[string]bool{}
	for _, s := range c.all {
		if s.gone {
			gone[s.id] = true
			continue
		}
		add(s.current, "the files of "+s.id)
		add(s.undo, "the way back of "+s.id)
		add(s.newest, "the last point of "+s.id)
		add(s.pending, "what a fork of "+s.id+" begins with")
		for at := s; at != nil && !at.gone; at = at.parent {
			for entry := range s.labels {
				add(at.bound[entry], "labelled by "+s.id)
			}
		}
	}
	for id, sessions := range c.named {
		for session := range sessions {
			if gone[session] {
				add(id, "of "+session+", whose file is gone")
			}
		}
	}
	return why
}

// wander moves a session's file to another folder, or deletes it.
func (c *conversations) wander(m *model) {
	if len(c.all) == 0 || !m.one(2) {
		return
	}
	s := pick(m.world, c.all)
	if s.gone {
		return
	}
	if m.one(5) {
		m.note("%s vanishes", s.id)
		s.gone = true
		m.must(os.Remove(s.path))
		return
	}
	to := filepath.Join(c.agent, "sessions", pick(m.world, []string{"--a--", "--b--", "--c--"}), filepath.Base(s.path))
	m.note("%s moves to %s", s.id, to)
	m.must(os.MkdirAll(filepath.Dir(to), 0o755))
	m.must(os.Rename(s.path, to))
	s.path = to
}

// speak begins a conversation, forks one, or goes on with one.
func (c *conversations) speak(m *model) {
	if len(m.order) == 0 {
		return
	}
	var s *conversation
	if len(c.all) > 0 {
		s = pick(m.world, c.all)
	}
	if s == nil || len(c.all) < 5 && m.one(6) {
		s = c.open(m, nil)
	} else if len(c.all) < 8 && m.one(3) && !s.gone {
		if s = c.open(m, s); m.one(2) { // what its parent has may be needed by its label alone
			c.label(m, s)
			return
		}
	}
	if s.gone {
		return
	}
	id := pick(m.world, m.order)
	switch m.rng.IntN(8) {
	case 0:
		back := pick(m.world, m.order)
		m.note("%s: operation to %v from %v", s.id, id, back)
		s.record(m, ledger.Record{Kind: ledger.Op, Current: id, Undo: back})
		s.current, s.undo, s.newest = id, back, id
	case 1:
		m.note("%s: pending %v", s.id, id)
		s.record(m, ledger.Record{Kind: ledger.ForkPending, Current: id})
		s.pending = id
	case 2, 3, 4:
		c.label(m, s)
	default:
		s.turn(m, id)
		s.turn(m, pick(m.world, m.order))
	}
}

// turn binds a new entry to a snapshot.
func (s *conversation) turn(m *model, id oid.ID) {
	entry := s.line(m, map[string]any{"type": "message", "message": map[string]any{"role": "assistant", "content": []any{}}})
	m.note("%s: %s is at %v", s.id, entry, id)
	s.record(m, ledger.Record{Kind: ledger.Turn, Bindings: []ledger.Binding{{Entry: entry, Snapshot: id}}})
	s.bound[entry], s.newest = id, id
}

// label marks an entry of a conversation, or one that it inherited.
func (c *conversations) label(m *model, s *conversation) {
	entry := c.entry(m, s)
	if entry == "" {
		return
	}
	m.note("%s: label %s", s.id, entry)
	s.line(m, map[string]any{"type": "label", "targetId": entry, "label": "mark"})
	s.labels[entry] = true
}

// entry draws an entry of a conversation, or of one that it was forked from.
func (c *conversations) entry(m *model, s *conversation) string {
	var all []string
	for at := s; at != nil; at = at.parent {
		for i := range at.lines {
			if name := fmt.Sprintf("%s-%d", at.id, i); !at.bound[name].IsZero() {
				all = append(all, name)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return pick(m.world, all)
}

// open begins a conversation, or a fork of one.
func (c *conversations) open(m *model, parent *conversation) *conversation {
	id := fmt.Sprintf("0197-%d", len(c.all))
	s := &conversation{id: id, parent: parent, bound: map[string]oid.ID{}, labels: map[string]bool{}}
	s.path = filepath.Join(c.agent, "sessions", "--a--", "2026-01-02T03-04-05_"+id+".jsonl")
	header := map[string]any{"type": "session", "version": 3, "id": id, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": m.root}
	m.note("begin %s", id)
	if parent != nil {
		header["parentSession"] = parent.path
		m.note("a fork of %s", parent.id)
	}
	m.must(os.MkdirAll(filepath.Dir(s.path), 0o755))
	s.append(m, header)
	c.all = append(c.all, s)
	return s
}

func (s *conversation) record(m *model, r ledger.Record) {
	s.line(m, map[string]any{"type": "custom", "customType": string(r.Kind), "data": recordData(r)})
}

// recordData is a record in the form in which pi-rewind-hook writes it.
func recordData(r ledger.Record) map[string]any {
	data := map[string]any{"v": 2}
	if r.Kind == ledger.ForkPending {
		data["current"] = r.Current.String()
		if !r.Undo.IsZero() {
			data["undo"] = r.Undo.String()
		}
		return data
	}
	snapshots, bindings := []string{}, [][2]any{}
	add := func(id oid.ID) int {
		snapshots = append(snapshots, id.String())
		return len(snapshots) - 1
	}
	for _, b := range r.Bindings {
		bindings = append(bindings, [2]any{b.Entry, add(b.Snapshot)})
	}
	if r.Kind == ledger.Op && !r.Current.IsZero() {
		data["current"] = add(r.Current)
	}
	if r.Kind == ledger.Op && !r.Undo.IsZero() {
		data["undo"] = add(r.Undo)
	}
	data["snapshots"], data["bindings"] = snapshots, bindings
	return data
}

// line writes an entry below the last one and returns its id.
func (s *conversation) line(m *model, entry map[string]any) string {
	id := fmt.Sprintf("%s-%d", s.id, s.lines)
	entry["id"], entry["parentId"] = id, nil
	if s.last != "" {
		entry["parentId"] = s.last
	}
	s.clock++
	entry["timestamp"] = fmt.Sprintf("2026-01-02T03:%02d:%02d.000Z", s.clock/60%60, s.clock%60)
	s.append(m, entry)
	s.lines, s.last = s.lines+1, id
	return id
}

func (s *conversation) append(m *model, line map[string]any) {
	text, err := json.Marshal(line)
	m.must(err)
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	m.must(err)
	_, err = f.WriteString(strings.TrimSpace(string(text)) + "\n")
	m.must(err)
	m.must(f.Close())
}
