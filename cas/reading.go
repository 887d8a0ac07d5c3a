package cas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// pieceBytes is about how much of a content is read under one lock.
const pieceBytes = 4 << 20

// WriteTo writes an object's payload to w and returns its kind and the number of bytes
// written, or [ErrNotFound]. It reads a few megabytes at a time under the
// shared lock and writes them without a lock, so nobody waits for a slow w, which must not
// keep them.
// Each chunk is verified before it is written, and last all of them together: after an
// error, w has the first part of the payload, or, where the store was made to lie, chunks of
// another one.
func (s *Store) WriteTo(ctx context.Context, w io.Writer, id oid.ID) (kind oid.Kind, written int64, err error) {
	var o object
	var ids []oid.ID // of the chunks that were not read
	whole, buf := assembly{id: id}, pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	for first := true; first || len(ids) > 0; first = false {
		var chunks [][]byte
		err := s.View(ctx, func(v *View) (err error) {
			if first {
				if ids, o, err = v.chunks(id); err != nil {
					return err
				}
				whole.begin(s.meta.algorithm, o)
			}
			if chunks, err = v.piece(ids, buf[:0]); err == nil {
				return nil
			}
			if _, gone := v.object(id); !first && errors.Is(gone, ErrNotFound) {
				return fmt.Errorf("%w: it was removed while it was read", gone)
			}
			return lost(id, err)
		})
		if err != nil {
			return o.kind, written, err
		}
		ids = ids[len(chunks):]
		for _, raw := range chunks {
			if err := whole.add(raw); err != nil {
				return o.kind, written, err
			}
			n, err := w.Write(raw)
			if written += int64(n); err != nil {
				return o.kind, written, err
			}
		}
	}
	return o.kind, written, whole.end()
}

// An assembly compares the chunks of an object, one after another, with its id: each may be right,
// and another object's. What is one chunk has been compared.
type assembly struct {
	id     oid.ID
	object object
	size   uint64
	hash   *oid.Hasher // of a list; nil: there is nothing to compare
}

func (a *assembly) begin(alg oid.Algorithm, o object) {
	if a.object = o; o.form == list {
		a.hash = alg.NewHasher(o.kind, int64(o.size))
	}
}

// add takes the next chunk, if the object may have it.
func (a *assembly) add(raw []byte) error {
	if a.size += uint64(len(raw)); a.size > a.object.size {
		return a.object.complete(a.id, a.size)
	}
	if a.hash != nil {
		_, _ = a.hash.Write(raw) // a hash takes everything
	}
	return nil
}

// end compares all that was added.
func (a *assembly) end() error {
	err := a.object.complete(a.id, a.size)
	if err == nil && a.hash != nil && a.hash.Sum() != a.id {
		err = lost(a.id, fmt.Errorf("%w: its chunks are not its own", ErrCorrupt))
	}
	return err
}

// piece returns the first chunks, as many as are read under one lock. They are in buf if
// there is room.
func (v *View) piece(ids []oid.ID, buf []byte) (chunks [][]byte, err error) {
	n := 0
	for _, id := range ids {
		raw, err := v.chunk(id, buf)
		if err != nil {
			return nil, err
		}
		if chunks = append(chunks, raw); len(raw) <= cap(buf) {
			buf = buf[len(raw):len(raw):cap(buf)]
		}
		if n += len(raw); n >= pieceBytes {
			break
		}
	}
	return chunks, nil
}

// pieces are the memory in which pieces are read.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}
