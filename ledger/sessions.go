package ledger

import (
	"iter"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Sessions keeps sessions from one look to the next, so that a parent shared
// by many forks is parsed once. The zero value is ready. One goroutine may use
// it, and the sessions in it, at a time.
type Sessions struct {
	byPath map[string]*Session
}

// Open returns the session in the file at path, refreshed. Errors are those
// of the function [Open]; a session that cannot be read is forgotten.
func (c *Sessions) Open(path string) (*Session, error) {
	path = filepath.Clean(path)
	s, known := c.byPath[path]
	var err error
	if known {
		err = s.Refresh()
	} else {
		s, err = Open(path)
	}
	if err != nil {
		delete(c.byPath, path)
		return nil, err
	}
	if c.byPath == nil {
		c.byPath = make(map[string]*Session)
	}
	c.byPath[path] = s
	return s, nil
}

// Lineage yields the session, its parent, and so on. It ends with the first
// parent that cannot be read, that is not named by an absolute path, or that
// came before.
func (c *Sessions) Lineage(s *Session) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		seen := map[string]bool{filepath.Clean(s.path): true}
		for yield(s) {
			path := filepath.Clean(s.header.ParentSession)
			if !filepath.IsAbs(path) || seen[path] {
				return
			}
			seen[path] = true
			parent, err := c.Open(path)
			if err != nil {
				return
			}
			s = parent
		}
	}
}

// Point returns the snapshot of an entry: the one bound to it by the session,
// or else by its parent, and so on, until one that exists.
func (c *Sessions) Point(s *Session, entryID string, exists func(oid.ID) bool) (oid.ID, bool) {
	for s := range c.Lineage(s) {
		if id, ok := s.bound[entryID]; ok && exists(id) {
			return id, true
		}
	}
	return oid.ID{}, false
}

// Handover returns the op that the child of a fork should begin with: what the
// parent left for it in a pending-fork record. There is none if the child has
// an op that it did not inherit, because then it took what was left.
//
// Of several forks of one parent, the child's is the last that is not younger
// than its own header.
func (c *Sessions) Handover(child *Session) (Record, bool) {
	parent, ok := c.parent(child)
	if !ok {
		return Record{}, false
	}
	for _, e := range child.entries {
		_, inherited := parent.byID[e.ID]
		if e.record != nil && e.record.Kind == Op && !inherited {
			return Record{}, false
		}
	}
	for i := len(parent.entries) - 1; i >= 0; i-- {
		e := &parent.entries[i]
		if e.record == nil || e.record.Kind != ForkPending {
			continue
		}
		if born := child.header.Time; born.IsZero() || !e.Time.After(born) {
			return Record{Kind: Op, Current: e.record.Current, Undo: e.record.Undo}, true
		}
	}
	return Record{}, false
}

func (c *Sessions) parent(child *Session) (*Session, bool) {
	for s := range c.Lineage(child) {
		if s != child {
			return s, true
		}
	}
	return nil, false
}
