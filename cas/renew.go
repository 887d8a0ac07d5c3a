package cas

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/zeebo/blake3"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Renew stores an object again of which the store has a damaged copy, and
// returns its id. A [Stage] takes over what the store has, unread. Renew reads
// each chunk back instead, and writes whole what cannot be read. The object is
// durable when Renew returns nil.
func (s *Store) Renew(ctx context.Context, kind oid.Kind, r io.Reader, size int64) (oid.ID, error) {
	n := &renewal{s: s, ctx: ctx}
	hasher := s.meta.algorithm.NewHasher(kind, size)
	var digests []byte
	var read int64
	first := digest{}
	add := func(raw []byte) error {
		hasher.Write(raw)
		read += int64(len(raw))
		d, err := n.add(raw)
		if len(digests) == 0 {
			first = d
		}
		digests = append(digests, d[:]...)
		return err
	}
	err := s.pieces(io.LimitReader(r, size), size, add)
	if err == nil {
		err = exhausted(r, read, size)
	}
	if err != nil {
		return oid.ID{}, err
	}
	row := object{kind: kind, size: uint64(size), digest: first}
	if len(digests) > digestBytes {
		row.form = list
		if row.digest, err = n.add(digests); err != nil {
			return oid.ID{}, err
		}
	}
	id := hasher.Sum()
	return id, n.flush(func(u *Update) error {
		row.written = s.now().Unix()
		return u.put(u.objects, objectsName, id.Bytes(), row.encode(id.Bytes()))
	})
}

// pieces calls fn with the chunks of a payload.
func (s *Store) pieces(r io.Reader, size int64, fn func(raw []byte) error) error {
	if size > wholeMax {
		return s.cuts.cut(r, size, fn)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return fn(raw)
}

// A renewal collects the chunks that have to be written again.
type renewal struct {
	s      *Store
	ctx    context.Context
	chunks []stagedChunk
	bytes  int
}

// add makes sure that a chunk will be there.
func (n *renewal) add(raw []byte) (digest, error) {
	d := digest(blake3.Sum256(raw))
	fine := false
	err := n.s.View(n.ctx, func(v *View) error {
		_, err := v.chunk(d)
		fine = err == nil
		return nil
	})
	if err != nil || fine {
		return d, err
	}
	c := stagedChunk{digest: d, raw: uint32(len(raw)), row: bytes.Clone(n.s.codecs.encode(raw))}
	n.chunks = append(n.chunks, c)
	if n.bytes += len(c.row); n.bytes >= loadBytes {
		err = n.flush(func(*Update) error { return nil })
	}
	return d, err
}

// flush writes what was collected, and what fn adds.
func (n *renewal) flush(fn func(*Update) error) error {
	chunks := n.chunks
	n.chunks, n.bytes = nil, 0
	return n.s.Update(n.ctx, func(u *Update) error {
		for i := range chunks {
			if err := u.rewrite(&chunks[i]); err != nil {
				return err
			}
		}
		return fn(u)
	})
}

// rewrite puts a chunk in the place of its damaged self.
func (u *Update) rewrite(c *stagedChunk) error {
	key := c.digest[:]
	if old, err := decodeChunk(key, u.chunks.Get(key)); err == nil {
		u.file.forget(dataName, seqKey(old.seq))
		if err := u.data.Delete(seqKey(old.seq)); err != nil {
			return err
		}
	}
	seq, err := nextSeq(u.data)
	if err != nil {
		return err
	}
	if err := u.put(u.data, dataName, seqKey(seq), c.row); err != nil {
		return err
	}
	row := chunk{seq: seq, raw: c.raw, stored: uint32(len(c.row) - 1), written: u.s.now().Unix()}
	if err := u.put(u.chunks, chunksName, key, row.encode(key)); err != nil {
		return fmt.Errorf("chunk %x: %w", key, err)
	}
	return u.data.SetSequence(seq)
}
