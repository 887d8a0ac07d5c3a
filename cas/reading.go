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

// WriteTo writes an object's payload to w and returns the number of bytes
// written, or [ErrNotFound]. It reads a few megabytes at a time under the
// shared lock and writes them without a lock, so nobody waits for a slow w.
// Each chunk is verified before it is written: after an error, w has the first
// part of the payload and nothing else.
func (s *Store) WriteTo(ctx context.Context, w io.Writer, id oid.ID) (written int64, err error) {
	r := reading{id: id}
	for more := true; more; {
		var p piece
		if err := s.View(ctx, func(v *View) (err error) { p, err = r.next(v); return err }); err != nil {
			return written, err
		}
		for _, raw := range p.chunks {
			n, err := w.Write(raw)
			if written += int64(n); err != nil {
				return written, err
			}
		}
		r.ids, r.at, r.object = p.ids, r.at+len(p.chunks), p.object
		r.read += p.bytes
		more = r.at < len(r.ids)
	}
	return written, r.object.complete(id, r.read)
}

// A reading is how far an object was read.
type reading struct {
	id     oid.ID
	object object
	ids    []oid.ID // of its chunks; nil before the first piece
	at     int      // the first chunk that was not read
	read   uint64
}

// A piece is a few chunks of an object, and what the first look said of it.
type piece struct {
	chunks [][]byte
	bytes  uint64
	ids    []oid.ID
	object object
}

func (r *reading) next(v *View) (p piece, err error) {
	p.ids, p.object = r.ids, r.object
	if p.ids == nil {
		if p.ids, p.object, err = v.chunks(r.id); err != nil {
			return p, err
		}
	}
	for _, id := range p.ids[r.at:] {
		raw, err := v.chunk(id)
		if err != nil {
			return p, r.broken(v, err)
		}
		p.chunks, p.bytes = append(p.chunks, raw), p.bytes+uint64(len(raw))
		if r.read+p.bytes > p.object.size {
			return p, p.object.complete(r.id, r.read+p.bytes)
		}
		if p.bytes >= pieceBytes {
			break
		}
	}
	return p, nil
}

// broken says what it means that a chunk cannot be read: damage, or that the
// object was removed since its first piece was read.
func (r *reading) broken(v *View, err error) error {
	if _, gone := v.object(r.id); r.at > 0 && errors.Is(gone, ErrNotFound) {
		return fmt.Errorf("%w: it was removed while it was read", gone)
	}
	return lost(r.id, err)
}
