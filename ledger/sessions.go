package ledger

import (
	"context"
	"iter"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Sessions opens sessions for one request, and keeps them, so that a parent shared
// by many forks is read once. The zero value is ready; it is for one goroutine.
type Sessions struct {
	// Context ends the reading of files; nil: nothing does.
	Context context.Context
	// Moved returns the files that may now be the session that lay at a path; nil:
	// none.
	Moved func(path string) []string
	// Keep tells which sessions are kept, by their cleaned paths; nil: all.
	Keep func(path string) bool

	byPath map[string]*Session
}

// Open returns the session in the file at path. Only a regular file is read, and no
// further than any session goes. It fails with ErrNotSession or ErrVersion, or with the
// error of the file.
func (c *Sessions) Open(path string) (*Session, error) {
	path = filepath.Clean(path)
	if s, known := c.byPath[path]; known {
		return s, nil
	}
	ctx := c.Context
	if ctx == nil {
		ctx = context.Background()
	}
	s, err := readSession(ctx, path)
	if err != nil || c.Keep != nil && !c.Keep(path) {
		return s, err
	}
	if c.byPath == nil {
		c.byPath = make(map[string]*Session)
	}
	c.byPath[path] = s
	return s, nil
}

// Lineage yields the session, its parent, and so on. A parent is the session
// that the path in the header meant: the file there, and where that is gone or
// another session, every file that [Sessions.Moved] names. It ends with the
// first parent that cannot be read, that is not named by an absolute path, or
// that came before.
func (c *Sessions) Lineage(s *Session) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		seen := map[string]bool{filepath.Clean(s.path): true}
		for next := []*Session{s}; len(next) > 0; next = next[1:] {
			if !yield(next[0]) {
				return
			}
			next = append(next, c.parents(next[0], seen)...)
		}
	}
}

// parents returns the files of the session that s was forked from, except for
// those that were seen.
func (c *Sessions) parents(s *Session, seen map[string]bool) (list []*Session) {
	path := filepath.Clean(s.header.ParentSession)
	if !filepath.IsAbs(path) {
		return nil
	}
	take := func(path string) (taken *Session) {
		if path = filepath.Clean(path); seen[path] {
			return nil
		}
		seen[path] = true
		if parent, err := c.Open(path); err == nil {
			list = append(list, parent)
			return parent
		}
		return nil
	}
	known := seen[path]
	p := take(path)
	if known || c.Moved == nil || p != nil && !misnamed(path, p.header.ID) {
		return list
	}
	list = nil
	for _, moved := range c.Moved(path) {
		take(moved)
	}
	if len(list) == 0 && p != nil {
		list = []*Session{p}
	}
	return list
}

// misnamed reports whether the name of a session's file, in Pi's form
// TIME_ID.jsonl, tells of another session than the one in it.
func misnamed(path, id string) bool {
	_, named, ok := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "_")
	return ok && named != id
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
