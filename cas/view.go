package cas

import (
	"context"
	"errors"
	"fmt"

	"github.com/zeebo/blake3"
	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A View is the store at one moment. It is valid during the function it was
// given to, and for the goroutine that runs that.
type View struct {
	s       *Store
	file    *file
	tx      *bolt.Tx
	objects *bolt.Bucket
	chunks  *bolt.Bucket
	data    *bolt.Bucket
	damage  []error // what an iteration met and had to leave out
}

// View calls fn with the present state, under the shared lock: writers wait
// until fn returns. Its error is fn's, or [ErrCorrupt] if the file turns out
// damaged in the meantime.
func (s *Store) View(ctx context.Context, fn func(*View) error) error {
	return s.transact(ctx, durable.Shared, func(f *file) error {
		return s.view(f, fn)
	})
}

func (s *Store) view(f *file, fn func(*View) error) error {
	tx := f.tx
	v := &View{
		s: s, file: f, tx: tx,
		objects: tx.Bucket(objectsBucket),
		chunks:  tx.Bucket(chunksBucket),
		data:    tx.Bucket(dataBucket),
	}
	if v.objects == nil || v.chunks == nil || v.data == nil {
		return fmt.Errorf("%w: a bucket is missing", ErrBroken)
	}
	err := fn(v)
	return errors.Join(append([]error{err}, v.damage...)...)
}

// Has reports whether the object is stored. It does not read the bytes.
func (v *View) Has(id oid.ID) bool {
	o, err := v.object(id)
	return err == nil && v.chunks.Get(o.digest[:]) != nil
}

// Sweeps counts the sweeps of the store that removed anything. While it stays
// the same, what was in the store still is.
func (v *View) Sweeps() uint64 { return v.objects.Sequence() }

// Stat returns the kind of an object and its size in bytes, or [ErrNotFound].
func (v *View) Stat(id oid.ID) (oid.Kind, int64, error) {
	o, err := v.object(id)
	return o.kind, int64(o.size), err
}

// Stored returns how many bytes of frames an object takes up. What it shares
// with others counts for each of them.
func (v *View) Stored(id oid.ID) (int64, error) {
	o, err := v.object(id)
	if err != nil {
		return 0, err
	}
	digests, err := v.digests(o)
	if err != nil {
		return 0, fmt.Errorf("object %v: %w", id, err)
	}
	var n int64
	for _, d := range digests {
		c, err := decodeChunk(d[:], v.chunks.Get(d[:]))
		if err != nil {
			return 0, fmt.Errorf("object %v: %w", id, err)
		}
		n += int64(c.stored)
	}
	return n, nil
}

// Object returns an object's kind and payload, or [ErrNotFound]. Each chunk is
// compared with its digest; damage gives [ErrCorrupt] naming the object.
func (v *View) Object(id oid.ID) (oid.Kind, []byte, error) {
	o, err := v.object(id)
	if err != nil {
		return 0, nil, err
	}
	var payload []byte
	err = v.each(o, func(raw []byte) error {
		if payload == nil {
			payload = raw
			return nil
		}
		payload = append(payload, raw...)
		return nil
	})
	if err != nil {
		return 0, nil, fmt.Errorf("object %v: %w", id, err)
	}
	return o.kind, payload, nil
}

// ReadBack reads an object to its end, and returns what [View.Object] would
// report. Nothing of it stays in memory.
func (v *View) ReadBack(id oid.ID) error {
	o, err := v.object(id)
	if err != nil {
		return err
	}
	if err := v.each(o, func([]byte) error { return nil }); err != nil {
		return fmt.Errorf("object %v: %w", id, err)
	}
	return nil
}

func (v *View) object(id oid.ID) (object, error) {
	key := id.Bytes()
	row := v.objects.Get(key)
	if row == nil {
		return object{}, fmt.Errorf("object %v: %w", id, ErrNotFound)
	}
	return decodeObject(key, row)
}

// each calls fn with the object's chunks in order. fn may keep the bytes.
func (v *View) each(o object, fn func(raw []byte) error) error {
	digests, err := v.digests(o)
	if err != nil {
		return err
	}
	var size uint64
	for _, d := range digests {
		raw, err := v.chunk(d)
		if err != nil {
			return err
		}
		if size += uint64(len(raw)); size > o.size {
			break
		}
		if err := fn(raw); err != nil {
			return err
		}
	}
	if size != o.size {
		return fmt.Errorf("%w: its chunks have %d bytes, not %d", ErrCorrupt, size, o.size)
	}
	return nil
}

// digests returns the digests of an object's chunks.
func (v *View) digests(o object) ([]digest, error) {
	if o.form == whole {
		return []digest{o.digest}, nil
	}
	raw, err := v.chunk(o.digest)
	if err != nil {
		return nil, err
	}
	if len(raw)%digestBytes != 0 {
		return nil, fmt.Errorf("%w: a list of chunks has %d bytes", ErrCorrupt, len(raw))
	}
	digests := make([]digest, len(raw)/digestBytes)
	for i := range digests {
		copy(digests[i][:], raw[i*digestBytes:])
	}
	return digests, nil
}

// chunk returns the verified bytes of a chunk.
func (v *View) chunk(d digest) ([]byte, error) {
	c, row, err := v.frame(d)
	if err != nil {
		return nil, err
	}
	var base []byte
	if c.base != (digest{}) {
		if base, err = v.base(c.base); err != nil {
			return nil, fmt.Errorf("the base of chunk %x: %w", d, err)
		}
	}
	return v.s.expand(d, c, row, base)
}

// base returns the verified bytes of a chunk that is no delta itself.
func (v *View) base(d digest) ([]byte, error) {
	c, row, err := v.frame(d)
	if err != nil {
		return nil, err
	}
	return v.s.expand(d, c, row, nil)
}

// frame returns the rows of a chunk, the second as it lies in the file.
func (v *View) frame(d digest) (chunk, []byte, error) {
	row := v.chunks.Get(d[:])
	if row == nil {
		return chunk{}, nil, fmt.Errorf("%w: chunk %x is missing", ErrCorrupt, d)
	}
	c, err := decodeChunk(d[:], row)
	if err != nil {
		return chunk{}, nil, err
	}
	p := v.data.Get(seqKey(c.seq))
	v.file.touch(len(p), v.s.parts.mapped)
	if uint64(len(p)) != uint64(c.stored)+1 {
		return chunk{}, nil, fmt.Errorf("%w: the frame of chunk %x has %d bytes, not %d",
			ErrCorrupt, d, len(p), c.stored+1)
	}
	return c, p, nil
}

// expand decodes a frame and compares the bytes with their digest.
func (s *Store) expand(d digest, c chunk, row, base []byte) ([]byte, error) {
	if c.base != (digest{}) && base == nil {
		return nil, fmt.Errorf("%w: the base of a delta is a delta, chunk %x", ErrCorrupt, d)
	}
	if raw := s.recall.find(d, row); base == nil && raw != nil {
		return raw, nil
	}
	s.decoded.Add(1)
	raw, err := s.codecs.decode(row, base, int(c.raw))
	if err != nil {
		return nil, fmt.Errorf("chunk %x: %w", d, err)
	}
	if blake3.Sum256(raw) != d {
		return nil, fmt.Errorf("%w: the bytes of chunk %x are not what they were", ErrCorrupt, d)
	}
	if base == nil {
		s.recall.keep(d, row, raw)
	}
	return raw, nil
}
