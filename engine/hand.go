package engine

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

const (
	// handBytes of the contents that a scan read stay in memory: what a turn
	// changes is much less.
	handBytes = 8 << 20
	// handBytesEach is the size of the largest content that stays.
	handBytesEach = 128 << 10
)

// A hand is what the scan of a capture made and read, as far as it stays in
// memory: every tree that git lacks, and small contents as far as there is room.
// They are for what is done before they can be read in the store: a plan, and
// writing to git. Goroutines may share it.
type hand struct {
	mu    sync.Mutex // guards what follows
	room  int
	trees map[oid.ID][]byte
	blobs map[oid.ID][]byte
}

func newHand() *hand {
	return &hand{room: handBytes, trees: map[oid.ID][]byte{}, blobs: map[oid.ID][]byte{}}
}

func (h *hand) putTree(id oid.ID, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.trees[id]; !known {
		h.trees[id] = bytes.Clone(payload)
	}
}

func (h *hand) putBlob(id oid.ID, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.blobs[id]; !known && len(payload) <= h.room {
		h.room -= len(payload)
		h.blobs[id] = payload
	}
}

// tree returns a tree if it is in memory.
func (h *hand) tree(id oid.ID) ([]byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, ok := h.trees[id]
	return p, ok
}

// object returns an object if it is in memory. The payload is not to be changed.
func (h *hand) object(id oid.ID) (oid.Kind, []byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.trees[id]; ok {
		return oid.Tree, p, true
	}
	p, ok := h.blobs[id]
	return oid.Blob, p, ok
}

// saver returns where the scan puts what it reads.
func (c *capture) saver() worktree.Saver {
	if c.stage == nil {
		return &hashing{alg: c.e.alg, hand: c.hand}
	}
	return &staging{e: c.e, stage: c.stage, hand: c.hand}
}

// staging puts contents and trees into a stage of the store. A tree that git
// has is left out at first: of a clean checkout those are all, and a commit of
// the user's keeps them. What nothing keeps is added by [capture.hold].
type staging struct {
	e     *Engine
	stage *cas.Stage
	hand  *hand
}

func (s *staging) Blob(ctx context.Context, r io.Reader, size int64, base oid.ID) (oid.ID, error) {
	var copied bytes.Buffer
	if size <= handBytesEach {
		copied.Grow(int(size))
		r = io.TeeReader(r, &copied)
	}
	id, err := s.stage.PutReader(ctx, oid.Blob, r, size, base)
	if err == nil && size <= handBytesEach {
		s.hand.putBlob(id, copied.Bytes()[:size])
	}
	return id, objects.StoreError(err)
}

func (s *staging) Tree(ctx context.Context, payload []byte, base oid.ID) (oid.ID, error) {
	id := s.e.alg.Sum(oid.Tree, payload)
	if s.e.objects.InGit(id) {
		return id, nil
	}
	s.hand.putTree(id, payload)
	_, err := s.stage.Put(ctx, oid.Tree, payload, base)
	return id, objects.StoreError(err)
}

// hashing keeps trees in memory and of files only the ids: for a dry run.
type hashing struct {
	alg  oid.Algorithm
	hand *hand
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
	h.hand.putTree(id, payload)
	return id, nil
}
