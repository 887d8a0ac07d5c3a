package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/rules"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// rules returns where the rules of the worktree stand.
func (e *Engine) rules() *rules.Source {
	s := &rules.Source{Root: e.root, Home: e.home(), Env: e.opt.Getenv, Builtin: e.conf.Builtin, Warn: e.conf.Warn, Config: e.git}
	if e.repo != nil {
		s.Layout = e.repo.Layout()
	}
	return s
}

// recordOf names rules by the ids of their texts.
func (e *Engine) recordOf(t *rules.Texts) Rules {
	r := Rules{Function: worktree.TreeFunction, Fold: t.Fold}
	for _, text := range t.Ignore {
		r.Ignore = append(r.Ignore, e.alg.Sum(oid.Blob, text))
	}
	if len(t.Exclude) > 0 {
		r.Exclude = e.alg.Sum(oid.Blob, t.Exclude)
	}
	return r
}

// keepRules stores the texts that a record names.
func keepRules(ctx context.Context, stage *cas.Stage, t *rules.Texts) error {
	for _, text := range t.All() {
		if _, err := stage.Put(ctx, oid.Blob, text, oid.ID{}); err != nil {
			return objects.StoreError(err)
		}
	}
	return nil
}

// expectIndex begins to decode git's index where there is no stat table: then it
// is needed for certain.
func (c *capture) expectIndex() {
	if c.e.repo == nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(c.e.table, tableFile)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if x, err := rules.OpenIndex(c.e.repo.Layout(), ""); err == nil {
		x.Read = sync.OnceValues(x.Read)
		c.index = &x
		go x.Read()
	}
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

// storeStat identifies the store's directory, which a scan never enters.
func storeStat(path string) dirfd.Stat {
	dir, err := dirfd.Open(path)
	if err != nil {
		return dirfd.Stat{}
	}
	defer dir.Close()
	st, err := dir.Stat()
	if err != nil && !os.IsNotExist(err) && err != fs.ErrPermission {
		return dirfd.Stat{}
	}
	return st
}
