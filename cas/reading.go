package cas

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// pieceBytes is about how much of a content is read under one lock.
const pieceBytes = 4 << 20

// WriteTo writes an object's payload to w and returns its kind and the number of bytes
// written, or [ErrNotFound]. It reads a few megabytes at a time under the
// shared lock and writes them without a lock, so nobody waits for a slow w, which must not
// keep them.
//
// What is read at once is verified before it is written. Of a larger object each chunk is, and
// last all of them together: after an error, w has the first part of the payload, or, where
// the store was made to lie, chunks of another one.
func (s *Store) WriteTo(ctx context.Context, w io.Writer, id oid.ID) (kind oid.Kind, written int64, err error) {
	var o object
	var buf []byte      // nil for a small content
	var chunks [][]byte // all of them, if it is small
	var ids []oid.ID    // of the chunks, if it is large
	err = s.View(ctx, func(v *View) (err error) {
		chunks = nil
		if o, err = v.object(id); err == nil && buf == nil && o.size > pooledFrom {
			buf = piece()
		}
		if err == nil && o.size <= pieceBytes {
			o, err = v.each(id, buf, func(raw []byte) { chunks = append(chunks, raw) })
		} else if err == nil {
			ids, o, err = v.chunks(id)
		}
		return err
	})
	if buf != nil {
		defer pieces.put(buf)
	}
	if err != nil {
		return o.kind, 0, err
	}
	if o.size > pieceBytes {
		written, err = s.writePieces(ctx, w, s.assemble(id, o), ids, buf)
		return o.kind, written, err
	}
	for _, raw := range chunks {
		n, err := w.Write(raw)
		if written += int64(n); err != nil {
			return o.kind, written, err
		}
	}
	return o.kind, written, nil
}

// writePieces is WriteTo of an object with these chunks.
func (s *Store) writePieces(ctx context.Context, w io.Writer, whole *assembly, ids []oid.ID, buf []byte) (written int64, err error) {
	for len(ids) > 0 {
		chunks, err := s.piece(ctx, whole.id, ids, buf, written > 0)
		if err != nil {
			return written, err
		}
		for _, raw := range chunks {
			if err := whole.add(raw); err != nil {
				return written, err
			}
			n, err := w.Write(raw)
			if written += int64(n); err != nil {
				return written, err
			}
		}
		ids = ids[len(chunks):]
	}
	return written, whole.end()
}

// An assembly compares the chunks of an object, one after another, with its id: each may be right,
// and another object's. What is one chunk has been compared.
type assembly struct {
	id     oid.ID
	object object
	size   uint64
	hash   *oid.Hasher // of a list; nil: there is nothing to compare
}

func (s *Store) assemble(id oid.ID, o object) *assembly {
	a := &assembly{id: id, object: o}
	if o.form == list {
		a.hash = s.meta.algorithm.NewHasher(o.kind, int64(o.size))
	}
	return a
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

// piece returns the next chunks of an object, as many as are read under one lock. They are
// in buf if there is room. Begun says that some were written.
func (s *Store) piece(ctx context.Context, id oid.ID, ids []oid.ID, buf []byte, begun bool) (chunks [][]byte, err error) {
	err = s.View(ctx, func(v *View) error {
		n := 0
		for _, c := range ids {
			raw, err := v.chunk(c, buf)
			if err != nil {
				if _, gone := v.object(id); begun && errors.Is(gone, ErrNotFound) {
					return fmt.Errorf("%w: it was removed while it was read", gone)
				}
				return lost(id, err)
			}
			chunks, buf = append(chunks, raw), behind(buf, raw)
			if n += len(raw); n >= pieceBytes {
				break
			}
		}
		return nil
	})
	return chunks, err
}

// pooledFrom is from what size on a content is read into memory that is used again. That is
// large, and often fresh: for a small content it would be made for nothing.
const pooledFrom = 64 << 10

// pieces are the memory in which pieces are read.
var pieces spares[[]byte]

// piece returns memory for a piece, to be put back.
func piece() []byte {
	return pieces.take(func() []byte { return make([]byte, 0, pieceBytes) })
}
