package objects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	// batchObjects is how many objects are read under one lock of the store. To
	// take the lock costs as much as reading two or three small files, and some twenty
	// share a frame.
	batchObjects = 64
	// prefetchBytes is up to what size an object is read ahead. What is larger is
	// read when it is asked for, in pieces.
	prefetchBytes = 64 << 10
	// batchesMax is how many batches are in memory at most, 16 MiB at the worst.
	batchesMax = 4
)

// A Prefetch reads objects of the store before they are asked for. It is told
// which will be, and about in which order, and reads each with its neighbours.
// Any number of goroutines may ask.
type Prefetch struct {
	o       *Objects
	ids     []oid.ID
	places  *oid.Index        // of ids
	at      []cas.Place       // where the store had them; nil: it was not asked
	skip    func(oid.ID) bool // what is not asked for; nil: all are
	batches []batch           // of batchObjects ids each

	mu   sync.Mutex // guards what follows
	read []*batch   // those in memory, oldest first
	free [][]byte   // memory for the next
}

// A batch is a number of objects that are read together.
type batch struct {
	mu   sync.Mutex // held while they are read; guards what follows
	done bool       // they were read, and may have been dropped since
	have map[oid.ID]prefetched
	mem  []byte // where the payloads lie
	out  int    // how many were taken, and may still be read there
}

// A prefetched is an object of the store, or the knowledge that it has none.
type prefetched struct {
	kind    oid.Kind
	payload []byte
	absent  bool
}

// Prefetch prepares to read objects in the order of ids, which must not change.
// Nothing is read yet.
func (o *Objects) Prefetch(ids []oid.ID) *Prefetch {
	batches := make([]batch, (len(ids)+batchObjects-1)/batchObjects)
	return &Prefetch{o: o, ids: ids, places: oid.NewIndex(ids), batches: batches}
}

// Except leaves out what is not asked for after all. The list may have millions of ids,
// so who has some of them himself gives all, and not a second list of the others. It
// returns p.
func (p *Prefetch) Except(skip func(oid.ID) bool) *Prefetch {
	p.skip = skip
	return p
}

// Write is [Objects.Write]; w must not keep what it gets. What was prefetched is given once: who asks again
// waits for the store. Checked says that what was written is the content of a file with that
// id, and no tree.
func (p *Prefetch) Write(ctx context.Context, id oid.ID, w io.Writer) (checked bool, err error) {
	o, b, ok := p.take(ctx, id)
	defer p.release(b)
	switch {
	case !ok, o.absent && !p.o.Git.Has(id):
		return p.o.Write(ctx, w, id)
	case o.absent:
		return p.o.writeFromGit(ctx, w, id)
	}
	_, err = w.Write(o.payload)
	return o.kind == oid.Blob, err
}

// Stream opens an object of the store or of git, which need not fit into
// memory. What was prefetched is given once, as by [Prefetch.Write].
func (p *Prefetch) Stream(ctx context.Context, id oid.ID) (gitbridge.Object, error) {
	o, b, ok := p.take(ctx, id)
	defer p.release(b)
	switch {
	case !ok, o.absent && !p.o.Git.Has(id):
		return p.o.stream(ctx, id)
	case o.absent:
		return p.o.Git.Stream(id)
	}
	payload := bytes.Clone(o.payload)
	return gitbridge.Object{Kind: o.kind, Size: int64(len(payload)), Data: io.NopCloser(bytes.NewReader(payload))}, nil
}

// take returns an object that was read ahead, once, and the batch that it is of, to be
// released when nobody reads its payload any more. What it does not give is
// to be read as usual, which also says what is wrong.
func (p *Prefetch) take(ctx context.Context, id oid.ID) (o prefetched, b *batch, ok bool) {
	place, ok := p.places.Place(id)
	if !ok {
		return o, nil, false
	}
	b = &p.batches[place/batchObjects]
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.done = true
		p.load(ctx, b, place/batchObjects*batchObjects)
		p.keep(b)
	}
	o, ok = b.have[id]
	delete(b.have, id)
	b.out++
	return o, b, ok
}

// release takes note that what was taken of a batch is not read any more.
func (p *Prefetch) release(b *batch) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.out--
		p.reuse(b)
	}
}

// reuse gives the memory of a batch to the next once nobody has any of it; the caller has
// the batch's lock.
func (p *Prefetch) reuse(b *batch) {
	if b.out > 0 || len(b.have) > 0 || b.mem == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < batchesMax {
		p.free = append(p.free, b.mem)
	}
	b.mem = nil
}

// memory returns memory for the payloads of some objects, as far as their sizes are known.
func (p *Prefetch) memory(begin, end int) (mem []byte) {
	n := int64(0)
	for i := begin; i < end && p.at != nil; i++ {
		if size := p.at[i].Size(); size <= prefetchBytes {
			n += max(size, 0)
		}
	}
	p.mu.Lock()
	if last := len(p.free) - 1; last >= 0 {
		mem, p.free = p.free[last], p.free[:last]
	}
	p.mu.Unlock()
	if int64(cap(mem)) < n {
		mem = make([]byte, 0, max(n, 2*int64(cap(mem))))
	}
	return mem
}

// load reads the objects of the batch that begins at a place, under one lock. What is
// large or damaged is left to who asks for it, and what is in an earlier batch to that.
func (p *Prefetch) load(ctx context.Context, b *batch, begin int) {
	s, err := p.o.Store(ctx)
	if err != nil || s == nil {
		return
	}
	ids := p.ids[begin:min(begin+batchObjects, len(p.ids))]
	b.have, b.mem = make(map[oid.ID]prefetched, len(ids)), p.memory(begin, begin+len(ids))
	rest := b.mem
	_ = s.View(ctx, func(v *cas.View) error {
		for i, id := range ids {
			if first, _ := p.places.Place(id); first != begin+i || p.skip != nil && p.skip(id) {
				continue
			}
			kind, payload, err := p.object(v, begin+i, rest)
			switch {
			case err == nil && payload != nil:
				b.have[id] = prefetched{kind: kind, payload: payload}
			case errors.Is(err, cas.ErrNotFound) && p.o.Git != nil:
				b.have[id] = prefetched{absent: true}
			}
			if n := len(payload); n <= cap(rest) {
				rest = rest[n:n:cap(rest)]
			}
		}
		return nil
	})
}

// object reads one object, if it is small, into buf if there is room.
func (p *Prefetch) object(v *cas.View, i int, buf []byte) (kind oid.Kind, payload []byte, err error) {
	var at cas.Place
	if p.at != nil {
		at = p.at[i]
	}
	size := at.Size()
	if size < 0 {
		_, size, err = v.Stat(p.ids[i])
	}
	if err != nil || size > prefetchBytes {
		return 0, nil, err
	}
	return v.ObjectAt(p.ids[i], at, buf)
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
		old.mu.Lock() // whoever has it reads nothing, and so waits for none
		defer old.mu.Unlock()
		old.have = nil
		p.reuse(old)
	}
}
