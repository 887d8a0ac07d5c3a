// Package ledger reads Pi session files and says which snapshot belongs to
// which point of a conversation. It writes nothing: whoever holds a session open
// writes the records that say so.
//
// A session file is lines of JSON, version 3: a header, then entries that form
// a tree. Snapshots are named in entries of type custom whose customType is
// one of the three [Kind]s; pi-rewind-hook wrote them first, and this package
// gives them the same meaning, so each reads what the other wrote.
//
// It promises that its answers depend on the bytes of the file alone; that memory
// grows with the number of entries and not with
// what is in them; and that nothing in a file stops the reading: a line that
// cannot be used is passed over, and the ids of snapshots that stand in it are
// still reported as mentioned.
//
// It does not know what a snapshot id points to (existence is asked through a
// function), where the files of a worktree are, git, or the environment.
package ledger

import (
	"errors"
	"iter"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

var (
	// ErrNotSession is reported for a file whose first readable line is not
	// the header of a session.
	ErrNotSession = errors.New("not a Pi session file")
	// ErrVersion is reported for a session of another version than 3. Pi
	// rewrites older sessions when it opens them.
	ErrVersion = errors.New("session version is not supported")
)

const (
	headerType     = "session"
	sessionVersion = 3 // of session files since Pi 0.65
)

// A Header is the first line of a session file.
type Header struct {
	ID            string
	Time          time.Time // zero if missing or malformed
	Cwd           string    // the directory the session works in
	ParentSession string    // file of the session it was forked from, "" for none
}

// An Entry is a node of the conversation.
type Entry struct {
	ID         string
	ParentID   string // "" for a root
	Type       string // message, custom, label, compaction …; unknown ones too
	Role       string // of a message
	CustomType string // of a custom or custom_message entry
	Time       time.Time
	Text       string // first line of a prompt, command or summary, at most 200 bytes

	record *Record
}

// restorable reports whether a person can navigate to the entry and expect
// files there. custom_message is one since pi-rewind-hook 1.8.3.
func (e *Entry) restorable() bool {
	switch e.Type {
	case "message":
		return e.Role == "user" || e.Role == "assistant"
	case "compaction", "branch_summary", "custom_message":
		return true
	}
	return false
}

// A Session is what one session file said when it was read. It does not change.
type Session struct {
	path   string
	header Header

	entries   []Entry
	mentioned []oid.ID // ids in lines that are no valid records

	byID   map[string]int // last entry of an id
	bound  map[string]oid.ID
	labels map[string]string
}

// Path returns the path that was opened.
func (s *Session) Path() string { return s.path }

// Header returns the header of the session.
func (s *Session) Header() Header { return s.header }

// Entries yields the entries in the order of the file.
func (s *Session) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, e := range s.entries {
			if e.ID != "" && !yield(e) {
				return
			}
		}
	}
}

// Leaf returns the last entry in the file, where Pi continues after loading
// it, or false for a session without entries.
func (s *Session) Leaf() (Entry, bool) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i].ID != "" {
			return s.entries[i], true
		}
	}
	return Entry{}, false
}

// Binding returns the snapshot bound to the entry by this file alone. See
// [Sessions.Point] for the lineage.
func (s *Session) Binding(entryID string) (oid.ID, bool) {
	id, ok := s.bound[entryID]
	return id, ok
}

// Label returns the label of the entry, "" for none.
func (s *Session) Label(entryID string) string { return s.labels[entryID] }

// Left returns what the session left for the child of its last fork. A last record
// that says nothing stands for a fork of which nothing is known: what an earlier one
// began with is not its own.
func (s *Session) Left() (r Record, ok bool) {
	for _, e := range s.entries {
		if e.Type == "custom" && Kind(e.CustomType) == ForkPending {
			if r, ok = (Record{}), e.record != nil; ok {
				r = *e.record
			}
		}
	}
	return r, ok
}

// lastPending returns the last record of a pending fork in the file that says something.
func (s *Session) lastPending() (Record, bool) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if r := s.entries[i].record; r != nil && r.Kind == ForkPending {
			return *r, true
		}
	}
	return Record{}, false
}
