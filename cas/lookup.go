package cas

import (
	"bytes"
	"context"
	"errors"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// found is what the store has of an item.
type found struct {
	here    bool // the very bytes
	base    oid.ID
	baseOf  object
	baseRow []byte
}

// lookUp asks the store for the items of a batch. The answer saves work and
// need not be complete, the transaction that writes decides; so it does not
// wait for the lock, unless a base is wanted or damage looked for.
func (g *Stage) lookUp(ctx context.Context, b *batch) ([]found, error) {
	out := make([]found, len(b.items))
	look := func(f *file) error {
		return g.s.view(f, func(v *View) error {
			g.look(v)
			rows := map[uint64][]byte{}
			for i, it := range b.items {
				if out[i] = v.find(it, rows); g.anew && out[i].here {
					_, err := v.chunk(it.id, nil)
					out[i].here = err == nil
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

// find looks for an item. Rows are those that were copied: many bases may share one.
func (v *View) find(it item, rows map[uint64][]byte) (f found) {
	if it.base.IsZero() {
		_, _, err := v.frame(it.id)
		return found{here: err == nil}
	}
	// What has a base is a new version, most likely: a delta is made sooner than
	// two more pages are read to see whether it is needed.
	f.base = it.base
	o, row, err := v.frame(f.base)
	if err != nil || o.size > wholeMax || o.size == 0 {
		return found{}
	}
	if o.form == delta { // a base is never a delta itself
		f.base = o.ref
		o, row, err = v.frame(f.base)
	}
	if err != nil {
		return found{}
	}
	if it.id == it.base || it.id == f.base { // the same again, or as it was before
		return found{here: true}
	}
	if rows[o.seq] == nil {
		rows[o.seq] = bytes.Clone(row)
	}
	f.baseOf, f.baseRow = o, rows[o.seq]
	return f
}

// prepare makes the frame of an item, unless that came with it. A base that cannot be read is not used: the item
// is then kept whole.
func (s *Store) prepare(it item, payload []byte, f found) staged {
	c := it.staged()
	if row := s.deltaFrom(f, it.kind, payload); row != nil {
		c.alone(row, f.base)
		return c
	}
	if it.framed {
		c.alone(append([]byte{codecZstd}, payload...), oid.ID{})
	} else {
		c.alone(s.codecs.encode(payload), oid.ID{})
	}
	return c
}

// deltaFrom returns the row of a payload as a delta from the base that was found, or nil.
func (s *Store) deltaFrom(f found, kind oid.Kind, payload []byte) []byte {
	if f.baseRow == nil {
		return nil
	}
	buf := s.payload(int64(f.baseOf.size))
	defer s.payloads.put(buf)
	v := &View{s: s} // of no transaction: the row was copied
	raw, err := v.expand(f.base, f.baseOf, f.baseRow, nil, buf)
	if err != nil {
		return nil
	}
	return s.codecs.encodeDelta(kind, payload, raw)
}

func (it item) staged() staged {
	return staged{id: it.id, kind: it.kind, size: uint32(it.size)}
}
