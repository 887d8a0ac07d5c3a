package cas

import (
	"bytes"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Object returns an object that was staged, as long as its payload happens to
// be in memory: of a small stage all are, until it is discarded, also while
// Commit is at work and afterwards. Nothing has checked yet that it is durable.
func (g *Stage) Object(id oid.ID) (oid.Kind, []byte, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range []*batch{g.batch, g.worked} {
		if b == nil {
			continue
		}
		if it := b.find(id); it != nil {
			return it.kind, bytes.Clone(b.buf[it.from:it.to]), true
		}
	}
	return 0, nil, false
}

// Keep asks the stage, before anything is put into it, to keep for [Stage.Recent]
// what it would not need any more.
func (g *Stage) Keep() { g.keep = true }

// Recent returns a function that gives objects which were put into the stage
// until now, as far as they are still in memory: the last ones, and after
// [Stage.Keep] the small ones among the first 8 MiB. It goes on to do so after
// Commit, and may be called by several goroutines, which must not change the
// payloads.
func (g *Stage) Recent() func(oid.ID) (oid.Kind, []byte, bool) {
	type object struct {
		kind    oid.Kind
		payload []byte
	}
	objects := map[oid.ID]object{}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.batch.given = true
	for _, b := range append(g.recent[:len(g.recent):len(g.recent)], g.batch) {
		for _, it := range b.items {
			if !it.id.IsZero() {
				objects[it.id] = object{it.kind, b.buf[it.from:it.to:it.to]}
			}
		}
	}
	return func(id oid.ID) (oid.Kind, []byte, bool) {
		o, ok := objects[id]
		return o.kind, o.payload, ok
	}
}
