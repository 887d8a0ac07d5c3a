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

	mu   sync.Mutex // guards read
	read []*batch   // those in memory, oldest first
}

// A batch is a number of objects that are read together.
type batch struct {
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

// Write is [Objects.Write]. What was prefetched is given once: who asks again
// waits for the store. Checked says that what was written is the content of a file with that
// id, and no tree.
func (p *Prefetch) Write(ctx context.Context, id oid.ID, w io.Writer) (checked bool, err error) {
	o, ok := p.take(ctx, id)
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
	place, ok := p.places.Place(id)
	if !ok {
		return o, false
	}
	b := &p.batches[place/batchObjects]
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.done, b.have = true, p.load(ctx, place/batchObjects*batchObjects)
		p.keep(b)
	}
	o, ok = b.have[id]
	delete(b.have, id)
	return o, ok
}

// load reads the objects of the batch that begins at a place, under one lock. What is
// large or damaged is left to who asks for it, and what is in an earlier batch to that.
func (p *Prefetch) load(ctx context.Context, begin int) map[oid.ID]prefetched {
	s, err := p.o.Store(ctx)
	if err != nil || s == nil {
		return nil
	}
	ids := p.ids[begin:min(begin+batchObjects, len(p.ids))]
	have := make(map[oid.ID]prefetched, len(ids))
	_ = s.View(ctx, func(v *cas.View) error {
		for i, id := range ids {
			if first, _ := p.places.Place(id); first != begin+i || p.skip != nil && p.skip(id) {
				continue
			}
			kind, payload, err := p.object(v, begin+i)
			switch {
			case err == nil && payload != nil:
				have[id] = prefetched{kind: kind, payload: payload}
			case errors.Is(err, cas.ErrNotFound) && p.o.Git != nil:
				have[id] = prefetched{absent: true}
			}
		}
		return nil
	})
	return have
}

// object reads one object, if it is small.
func (p *Prefetch) object(v *cas.View, i int) (kind oid.Kind, payload []byte, err error) {
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
	return v.ObjectAt(p.ids[i], at)
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
