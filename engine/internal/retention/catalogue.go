package retention

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/ledger"
)

// A catalogue is the session files of some places, and the ways to find one:
// a session is told by its id, wherever its file lies now.
type catalogue struct {
	files   []ledger.Found
	byName  map[string][]string // a file's name, or the id of its session → the paths
	parents map[string]bool     // the files that others were forked from
}

// discover lists the session files. The end of the context is [ErrUnseen].
func discover(ctx context.Context, places ledger.Places) (*catalogue, error) {
	c := &catalogue{byName: map[string][]string{}, parents: map[string]bool{}}
	for f := range ledger.Discover(ctx, places) {
		if ctx.Err() != nil {
			return nil, outOfTime(ctx)
		}
		c.files = append(c.files, f)
		path := filepath.Clean(f.Path)
		c.byName[filepath.Base(path)] = append(c.byName[filepath.Base(path)], path)
		if id := f.Header.ID; id != "" {
			c.byName[id] = append(c.byName[id], path)
		}
	}
	for _, f := range c.files {
		if parent := f.Header.ParentSession; parent != "" {
			c.parents[filepath.Clean(parent)] = true
			for _, path := range c.moved(parent) {
				c.parents[path] = true
			}
		}
	}
	return c, nil
}

// moved returns the files that may be the session that lay at a path: those of
// the same name, and those with the id that Pi puts into the name.
func (c *catalogue) moved(path string) []string {
	name := filepath.Base(filepath.Clean(path))
	stem := strings.TrimSuffix(name, ".jsonl")
	found := append([]string(nil), c.byName[name]...)
	if _, id, ok := strings.Cut(stem, "_"); ok {
		stem = id
	}
	return append(found, c.byName[stem]...)
}

// sessions opens the files. It keeps those that it will be asked for again:
// what others were forked from, and the session at hand.
func (c *catalogue) sessions(ctx context.Context, id string) *ledger.Sessions {
	again := map[string]bool{}
	for _, path := range c.byName[id] {
		again[path] = true
	}
	keep := func(path string) bool { return c.parents[path] || again[path] }
	return &ledger.Sessions{Context: ctx, Moved: c.moved, Keep: keep}
}

// relatives returns sessions for one request, whose parents are found wherever
// they lie now. The places are only looked through when one is missing.
func (s *Sessions) relatives(ctx context.Context) *ledger.Sessions {
	var c *catalogue
	moved := func(path string) []string {
		if c == nil {
			c = &catalogue{}
			if places, _, err := s.places(ctx); err == nil {
				if found, err := discover(ctx, places); err == nil {
					c = found
				}
			}
		}
		return c.moved(path)
	}
	return &ledger.Sessions{Context: ctx, Moved: moved}
}
