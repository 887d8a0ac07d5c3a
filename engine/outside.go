package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/engine/rules"
)

// rules returns where the rules of the worktree stand.
func (e *Engine) rules() *rules.Source {
	s := &rules.Source{Root: e.root, Home: e.home(), Env: e.opt.Getenv, Builtin: e.conf.Builtin, Warn: e.conf.Warn, Config: e.git}
	if e.repo != nil {
		s.Layout = e.repo.Layout()
	}
	return s
}

// room returns the function that says whether the store takes in one more new
// content of a file that the index does not know; nil: it always does. What is
// tracked is taken in however full the store is.
func (e *Engine) room() func(size int64) string {
	limit := e.conf.MaxStoreSize
	if limit == 0 {
		return nil
	}
	var used atomic.Int64
	if info, err := os.Stat(filepath.Join(e.dir, storeFile)); err == nil {
		used.Store(info.Size())
	}
	return func(size int64) string {
		if used.Add(size) <= limit {
			return ""
		}
		used.Add(-size)
		return fmt.Sprintf("the store has no room for it (rewind.maxStoreSize: %d bytes; rewind prune makes room)", limit)
	}
}
