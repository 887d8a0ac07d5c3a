package engine

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// saver returns where the scan puts what it reads.
func (c *capture) saver() worktree.Saver {
	if c.stage == nil {
		return &hashing{alg: c.e.alg, trees: c.trees}
	}
	return &staging{e: c.e, stage: c.stage, c: c}
}

// staging keeps contents in the store. A tree that git has already is not kept
// a second time. If a plan is to be made before they are in the store, the
// capture remembers the trees.
type staging struct {
	e     *Engine
	stage *cas.Stage
	c     *capture
}

func (s *staging) Blob(ctx context.Context, r io.Reader, size int64, base oid.ID) (oid.ID, error) {
	id, err := s.stage.PutReader(ctx, oid.Blob, r, size, base)
	return id, storeError(err)
}

func (s *staging) Tree(ctx context.Context, payload []byte, base oid.ID) (oid.ID, error) {
	id := s.e.alg.Sum(oid.Tree, payload)
	if s.c.plans {
		s.c.mu.Lock()
		s.c.trees[id] = bytes.Clone(payload)
		s.c.mu.Unlock()
	}
	if s.e.repo != nil && s.e.repo.Has(id) {
		return id, nil
	}
	_, err := s.stage.Put(ctx, oid.Tree, payload, base)
	return id, storeError(err)
}

// hashing keeps trees in memory and of files only the ids: for a dry run.
type hashing struct {
	alg   oid.Algorithm
	mu    sync.Mutex // guards trees
	trees forest
}

func (h *hashing) Blob(_ context.Context, r io.Reader, size int64, _ oid.ID) (oid.ID, error) {
	sum := h.alg.NewHasher(oid.Blob, size)
	n, err := io.Copy(sum, r)
	if err == nil && n != size {
		err = cas.ErrSize
	}
	return sum.Sum(), err
}

func (h *hashing) Tree(_ context.Context, payload []byte, _ oid.ID) (oid.ID, error) {
	id := h.alg.Sum(oid.Tree, payload)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trees[id] = append([]byte(nil), payload...)
	return id, nil
}
