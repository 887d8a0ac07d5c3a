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
	var o object
	var ids []oid.ID // of the chunks that were not read
	var size uint64
	for first := true; first || len(ids) > 0; first = false {
		var chunks [][]byte
		err := s.View(ctx, func(v *View) (err error) {
			if first {
				if ids, o, err = v.chunks(id); err != nil {
					return err
				}
			}
			if chunks, err = v.piece(ids); err == nil {
				return nil
			}
			if _, gone := v.object(id); !first && errors.Is(gone, ErrNotFound) {
				return fmt.Errorf("%w: it was removed while it was read", gone)
			}
			return lost(id, err)
		})
		if err != nil {
			return written, err
		}
		ids = ids[len(chunks):]
		for _, raw := range chunks {
			if size += uint64(len(raw)); size > o.size {
				return written, o.complete(id, size)
			}
			n, err := w.Write(raw)
			if written += int64(n); err != nil {
				return written, err
			}
		}
	}
	return written, o.complete(id, size)
}

// piece returns the first chunks, as many as are read under one lock.
func (v *View) piece(ids []oid.ID) (chunks [][]byte, err error) {
	n := 0
	for _, id := range ids {
		raw, err := v.chunk(id)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, raw)
		if n += len(raw); n >= pieceBytes {
			break
		}
	}
	return chunks, nil
}
