package objects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/git/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	// batchObjects is how many objects are read under one lock of the store. To
	// take the lock costs as much as reading two or three small files.
	batchObjects = 16
	// prefetchBytes is up to what size an object is read ahead. What is larger is
	// read when it is asked for, in pieces.
	prefetchBytes = 64 << 10
	// batchesMax is how many batches are in memory at most, 16 MiB at the worst.
	batchesMax = 16
)

// A Prefetch reads objects of the store before they are asked for. It is told
// which will be, and about in which order, and reads each with its neighbours.
// Any number of goroutines may ask.
type Prefetch struct {
	o       *Objects
	batches map[oid.ID]*batch

	mu   sync.Mutex // guards read
	read []*batch   // those in memory, oldest first
}

// A batch is a number of objects that are read together.
type batch struct {
	ids []oid.ID

	mu   sync.Mutex // held while they are read
	done bool       // they were read, and may have been dropped since
	have map[oid.ID]prefetched
}

// A prefetched is an object of the store, or the knowledge that it has none.
type prefetched struct {
	kind    oid.Kind
	payload []byte
	absent  bool
}

// Prefetch prepares to read objects in the order of ids. Nothing is read yet.
func (o *Objects) Prefetch(ids []oid.ID) *Prefetch {
	p := &Prefetch{o: o, batches: make(map[oid.ID]*batch, len(ids))}
	b := &batch{}
	for _, id := range ids {
		if p.batches[id] != nil {
			continue
		}
		if len(b.ids) == batchObjects {
			b = &batch{}
		}
		b.ids = append(b.ids, id)
		p.batches[id] = b
	}
	return p
}

// Write is [Objects.Write]. What was prefetched is given once: who asks again
// waits for the store.
func (p *Prefetch) Write(ctx context.Context, id oid.ID, w io.Writer) error {
	o, ok := p.take(ctx, id)
	switch {
	case !ok, o.absent && !p.o.Git.Has(id):
		return p.o.Write(ctx, w, id)
	case o.absent:
		return p.o.writeFromGit(ctx, w, id)
	}
	_, err := w.Write(o.payload)
	return err
}

// Stream opens an object of the store or of git, which need not fit into
// memory. What was prefetched is given once, as by [Prefetch.Write].
func (p *Prefetch) Stream(ctx context.Context, id oid.ID) (gitbridge.Object, error) {
	o, ok := p.take(ctx, id)
	switch {
	case !ok, o.absent && !p.o.Git.Has(id):
		return p.o.stream(ctx, id)
	case o.absent:
		return p.o.Git.Stream(id)
	}
	return gitbridge.Object{Kind: o.kind, Size: int64(len(o.payload)), Data: io.NopCloser(bytes.NewReader(o.payload))}, nil
}

// take returns an object that was read ahead, once. What it does not give is
// to be read as usual, which also says what is wrong.
func (p *Prefetch) take(ctx context.Context, id oid.ID) (o prefetched, ok bool) {
	b := p.batches[id]
	if b == nil {
		return o, false
	}
	return b.take(ctx, p, id)
}

func (b *batch) take(ctx context.Context, p *Prefetch, id oid.ID) (o prefetched, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.done, b.have = true, p.load(ctx, b.ids)
		p.keep(b)
	}
	o, ok = b.have[id]
	delete(b.have, id)
	return o, ok
}

// load reads objects under one lock. What is large or damaged is left to who
// asks for it.
func (p *Prefetch) load(ctx context.Context, ids []oid.ID) map[oid.ID]prefetched {
	s, err := p.o.Store(ctx)
	if err != nil || s == nil {
		return nil
	}
	have := make(map[oid.ID]prefetched, len(ids))
	_ = s.View(ctx, func(v *cas.View) error {
		for _, id := range ids {
			_, size, err := v.Stat(id)
			switch {
			case err == nil && size <= prefetchBytes:
				if kind, payload, err := v.Object(id); err == nil {
					have[id] = prefetched{kind: kind, payload: payload}
				}
			case errors.Is(err, cas.ErrNotFound) && p.o.Git != nil:
				have[id] = prefetched{absent: true}
			}
		}
		return nil
	})
	return have
}

// keep notes a batch that was read, and drops the oldest where there are many:
// some of its objects may never be asked for.
func (p *Prefetch) keep(b *batch) {
	p.mu.Lock()
	p.read = append(p.read, b)
	var old *batch
	if len(p.read) > batchesMax {
		old, p.read = p.read[0], p.read[1:]
	}
	p.mu.Unlock()
	if old != nil {
		old.drop() // whoever has its lock reads nothing, and so waits for none
	}
}

func (b *batch) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.have = nil
}
