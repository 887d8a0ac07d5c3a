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
	// aheadRun is how many objects are read under one lock of the store. To
	// take the lock costs as much as reading two or three small files.
	aheadRun = 16
	// aheadBytes is up to what size an object is read ahead. What is larger is
	// read when it is asked for, in pieces.
	aheadBytes = 64 << 10
	// aheadRuns is how many runs are in memory at most, 16 MiB at the worst.
	aheadRuns = 16
)

// An Ahead reads objects of the store before they are asked for: it is told
// which will be, and about in which order, and reads each with its neighbours.
// Any number of goroutines may ask.
type Ahead struct {
	o    *Objects
	runs map[oid.ID]*aheadOf

	mu   sync.Mutex // guards read
	read []*aheadOf // those in memory, oldest first
}

// An aheadOf is a run of objects that are read together.
type aheadOf struct {
	ids []oid.ID

	mu   sync.Mutex // held while they are read
	done bool       // they were read, and may have been dropped since
	have map[oid.ID]readAhead
}

// A readAhead is an object of the store, or the knowledge that it has none.
type readAhead struct {
	kind    oid.Kind
	payload []byte
	absent  bool
}

// Ahead prepares to read objects in the order of ids. Nothing is read yet.
func (o *Objects) Ahead(ids []oid.ID) *Ahead {
	a := &Ahead{o: o, runs: make(map[oid.ID]*aheadOf, len(ids))}
	run := &aheadOf{}
	for _, id := range ids {
		if a.runs[id] != nil {
			continue
		}
		if len(run.ids) == aheadRun {
			run = &aheadOf{}
		}
		run.ids = append(run.ids, id)
		a.runs[id] = run
	}
	return a
}

// Write is [Objects.Write] for what is asked for once.
func (a *Ahead) Write(ctx context.Context, id oid.ID, w io.Writer) error {
	o, ok := a.take(ctx, id)
	switch {
	case !ok, o.absent && !a.o.Git.Has(id):
		return a.o.Write(ctx, w, id)
	case o.absent:
		return a.o.writeFromGit(ctx, w, id)
	}
	_, err := w.Write(o.payload)
	return err
}

// Stream opens an object of the store or of git, which need not fit into memory,
// for what is asked for once.
func (a *Ahead) Stream(ctx context.Context, id oid.ID) (gitbridge.Object, error) {
	o, ok := a.take(ctx, id)
	switch {
	case !ok, o.absent && !a.o.Git.Has(id):
		return a.o.stream(ctx, id)
	case o.absent:
		return a.o.Git.Stream(id)
	}
	return gitbridge.Object{Kind: o.kind, Size: int64(len(o.payload)), Data: io.NopCloser(bytes.NewReader(o.payload))}, nil
}

// take returns an object that was read ahead, once. What it does not give is
// to be read as usual, which also says what is wrong.
func (a *Ahead) take(ctx context.Context, id oid.ID) (o readAhead, ok bool) {
	run := a.runs[id]
	if run == nil {
		return o, false
	}
	return run.take(ctx, a, id)
}

func (r *aheadOf) take(ctx context.Context, a *Ahead, id oid.ID) (o readAhead, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		r.done, r.have = true, a.load(ctx, r.ids)
		a.keep(r)
	}
	o, ok = r.have[id]
	delete(r.have, id)
	return o, ok
}

// load reads objects under one lock. What is large or damaged is left to who
// asks for it.
func (a *Ahead) load(ctx context.Context, ids []oid.ID) map[oid.ID]readAhead {
	s := a.o.Store()
	if s == nil {
		return nil
	}
	have := make(map[oid.ID]readAhead, len(ids))
	_ = s.View(ctx, func(v *cas.View) error {
		for _, id := range ids {
			_, size, err := v.Stat(id)
			switch {
			case err == nil && size <= aheadBytes:
				if kind, payload, err := v.Object(id); err == nil {
					have[id] = readAhead{kind: kind, payload: payload}
				}
			case errors.Is(err, cas.ErrNotFound) && a.o.Git != nil:
				have[id] = readAhead{absent: true}
			}
		}
		return nil
	})
	return have
}

// keep notes a run that was read, and drops the oldest where there are many:
// some of its objects may never be asked for.
func (a *Ahead) keep(run *aheadOf) {
	a.mu.Lock()
	a.read = append(a.read, run)
	var old *aheadOf
	if len(a.read) > aheadRuns {
		old, a.read = a.read[0], a.read[1:]
	}
	a.mu.Unlock()
	if old != nil {
		old.drop() // whoever has its lock reads nothing, and so waits for none
	}
}

func (r *aheadOf) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.have = nil
}
