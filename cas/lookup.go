package cas

import (
	"bytes"
	"context"
	"errors"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// found is what the store has of an item.
type found struct {
	chunk     bool // the very bytes
	base      digest
	baseChunk chunk
	baseRow   []byte
}

// lookUp asks the store for the items of a batch. The answer saves work and
// need not be complete, the transaction that writes decides; so it does not
// wait for the lock, unless a base is wanted or damage looked for.
func (g *Stage) lookUp(ctx context.Context, b *batch) ([]found, error) {
	out := make([]found, len(b.items))
	look := func(f *file) error {
		return g.s.view(f, func(v *View) error {
			g.look(v)
			for i, it := range b.items {
				if out[i] = v.find(it); g.anew && out[i].chunk {
					_, err := v.chunk(it.digest)
					out[i].chunk = err == nil
				}
			}
			return nil
		})
	}
	if b.based || g.anew {
		return out, g.s.transact(ctx, durable.Shared, look)
	}
	held, err := g.s.lock.TryLock(durable.Shared)
	if errors.Is(err, durable.ErrLocked) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	return out, errors.Join(g.s.wrap(g.s.locked(ctx, held, durable.Shared, look)), held.Unlock())
}

func (v *View) find(it item) (f found) {
	if it.base.IsZero() {
		_, _, err := v.frame(it.digest)
		return found{chunk: err == nil}
	}
	// What has a base is a new version, most likely: a delta is made sooner than
	// two more pages are read to see whether it is needed.
	o, err := v.object(it.base)
	if err != nil || o.form != whole || o.size > wholeMax || o.size == 0 {
		return f
	}
	f.base = o.digest
	c, row, err := v.frame(f.base)
	if err == nil && c.base != (digest{}) { // a base is never a delta itself
		f.base = c.base
		c, row, err = v.frame(f.base)
	}
	if err != nil {
		return found{}
	}
	if it.digest == o.digest || it.digest == f.base { // the same again, or as it was before
		return found{chunk: true}
	}
	f.baseChunk, f.baseRow = c, bytes.Clone(row)
	return f
}

// prepare makes the frame of an item, unless the store has it. A base that
// cannot be read is not used: the item is then kept whole.
func (s *Store) prepare(it item, buf []byte, f found) stagedChunk {
	payload := buf[it.from:it.to]
	c := stagedChunk{digest: it.digest, raw: uint32(len(payload))}
	if f.chunk {
		return c
	}
	if f.baseRow != nil {
		if raw, err := s.expand(f.base, f.baseChunk, f.baseRow, nil); err == nil {
			c.row = s.codecs.encodeDelta(it.kind, payload, raw)
		}
	}
	if c.row != nil {
		c.base = f.base
		return c
	}
	c.row = s.codecs.encode(payload)
	return c
}
