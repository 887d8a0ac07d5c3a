package cas

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	data    *bolt.Bucket
	damage  []error // what an iteration met and had to leave out

	// What was read last; unused where rows may change.
	lastID    oid.ID
	last      object
	lastSeq   uint64
	lastFrame []byte

	baseBuf []byte // in which the base of a delta is read

	group    *decodedGroup // what groupRow decodes to
	groupRow []byte        // a row of the bucket data, by its place
	hashed   []byte        // likewise: the row that has this hash
	hash     uint64
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
		data:    tx.Bucket(dataBucket),
	}
	if v.objects == nil || v.data == nil {
		return fmt.Errorf("%w: a bucket is missing", ErrBroken)
	}
	defer v.holdGroup(nil, nil)
	err := fn(v)
	return errors.Join(append([]error{err}, v.damage...)...)
}

// Has reports whether the object is stored. It does not read the bytes.
func (v *View) Has(id oid.ID) bool {
	o, err := v.object(id)
	return err == nil && (o.form != list || v.objects.Get(o.ref.Bytes()) != nil)
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
	ids, _, err := v.chunks(id)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, c := range ids {
		o, err := v.object(c)
		if err != nil {
			return 0, lost(id, err)
		}
		n += int64(o.stored)
	}
	return n, nil
}

// Object returns an object's kind and payload, or [ErrNotFound]. The payload is
// compared with its id; damage gives [ErrCorrupt] naming the object.
func (v *View) Object(id oid.ID) (kind oid.Kind, payload []byte, err error) {
	o, err := v.each(id, nil, func(raw []byte) {
		if payload == nil {
			payload = raw
		} else {
			payload = append(payload, raw...)
		}
	})
	if err != nil {
		return 0, nil, err
	}
	return o.kind, payload, nil
}

// ReadBack reads an object to its end, and returns what [View.Object] would
// report. Nothing of it stays in memory.
func (v *View) ReadBack(id oid.ID) error {
	_, err := v.each(id, nil, func([]byte) {})
	return err
}

// absent is [ErrNotFound] of an object. Of a thousand new contents the store is asked for each, and nobody reads the words.
type absent oid.ID

func (a absent) Error() string { return fmt.Sprintf("object %v: %v", oid.ID(a), ErrNotFound) }
func (a absent) Unwrap() error { return ErrNotFound }

// object returns the row of an object. Who asks for its size asks for its bytes next, so
// the last one is remembered.
func (v *View) object(id oid.ID) (object, error) {
	if id == v.lastID && !id.IsZero() {
		return v.last, nil
	}
	key := id.Bytes()
	row := v.objects.Get(key)
	if row == nil {
		return object{}, absent(id)
	}
	o, err := decodeObject(key, row)
	if err == nil && !v.tx.Writable() {
		v.lastID, v.last = id, o
	}
	return o, err
}

// each calls fn with the chunks of an object in order, and last compares them all with its
// id. fn may keep the bytes, which lie in buf as far as there is room.
func (v *View) each(id oid.ID, buf []byte, fn func(raw []byte)) (object, error) {
	ids, o, err := v.chunks(id)
	if err != nil {
		return o, err
	}
	expand := (*View).expand
	if o.form == list {
		expand = (*View).decode // they are compared together
	}
	whole := v.s.assemble(id, o)
	for _, c := range ids {
		raw, err := v.read(c, buf, expand)
		if err != nil {
			return o, lost(id, err)
		}
		if err := whole.add(raw); err != nil {
			return o, err
		}
		fn(raw)
		buf = behind(buf, raw)
	}
	if err = whole.end(); err == nil {
		return o, nil
	}
	for _, c := range ids {
		if _, bad := v.chunk(c, nil); bad != nil {
			return o, lost(id, bad) // which says more
		}
	}
	return o, err
}

// behind returns what is left of buf behind bytes that were put into it, if there was room.
func behind(buf, raw []byte) []byte {
	if len(raw) > cap(buf) {
		return buf
	}
	return buf[len(raw):len(raw):cap(buf)]
}

// complete checks that the chunks of an object have its size.
func (o object) complete(id oid.ID, size uint64) error {
	if size != o.size {
		return fmt.Errorf("object %v: %w: its chunks have %d bytes, not %d", id, ErrCorrupt, size, o.size)
	}
	return nil
}

// lost is the error of an object of which a part is missing or damaged.
func lost(id oid.ID, err error) error {
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return fmt.Errorf("object %v: %w", id, err)
}

// chunks returns the ids of an object's chunks: its own, unless it is a list.
func (v *View) chunks(id oid.ID) ([]oid.ID, object, error) {
	o, err := v.object(id)
	if err != nil || o.form != list {
		return []oid.ID{id}, o, err
	}
	ids, err := v.listed(o)
	if err != nil {
		return nil, o, lost(id, err)
	}
	return ids, o, nil
}

// listed returns the ids of the chunks of a list.
func (v *View) listed(o object) ([]oid.ID, error) {
	raw, err := v.chunk(o.ref, nil)
	if err != nil {
		return nil, err
	}
	width := o.ref.Len()
	if len(raw)%width != 0 {
		return nil, fmt.Errorf("%w: a list of chunks has %d bytes", ErrCorrupt, len(raw))
	}
	ids := make([]oid.ID, len(raw)/width)
	for i := range ids {
		if ids[i], err = oid.FromBytes(raw[i*width:][:width]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// chunk returns the verified bytes of an object that has a frame, in buf if there is room.
func (v *View) chunk(id oid.ID, buf []byte) ([]byte, error) {
	return v.read(id, buf, (*View).expand)
}

// An expander is [View.expand] or [View.decode].
type expander func(v *View, id oid.ID, o object, row, base, buf []byte) ([]byte, error)

// read returns what an expander makes of an object.
func (v *View) read(id oid.ID, buf []byte, expand expander) ([]byte, error) {
	o, row, err := v.frame(id)
	if err != nil {
		return nil, err
	}
	if o.form != delta {
		return expand(v, id, o, row, nil, buf)
	}
	base, err := v.baseBy((*View).decode, o.ref) // what the bytes are made from is compared when they are
	if err == nil {
		if buf, err = expand(v, id, o, row, base, buf); err == nil {
			return buf, nil
		}
	}
	if _, bad := v.base(o.ref); bad != nil {
		return nil, fmt.Errorf("the base of chunk %v: %w", id, bad)
	}
	return nil, err
}

// base returns the verified bytes of an object that is no delta itself, until a base is
// read again.
func (v *View) base(id oid.ID) ([]byte, error) { return v.baseBy((*View).expand, id) }

func (v *View) baseBy(expand expander, id oid.ID) ([]byte, error) {
	o, row, err := v.frame(id)
	if err != nil {
		return nil, err
	}
	raw, err := expand(v, id, o, row, nil, v.baseBuf)
	if err != nil {
		return nil, err
	}
	v.s.kept.keep(v, id, o, row, raw) // many deltas may have one base
	if cap(raw) > cap(v.baseBuf) {
		v.baseBuf = raw
	}
	return raw, nil
}

// frame returns the rows of an object that has a frame, the second as it lies in the
// file.
func (v *View) frame(id oid.ID) (object, []byte, error) {
	o, err := v.object(id)
	if err == nil && o.form == list {
		err = fmt.Errorf("%w: chunk %v is a list", ErrCorrupt, id)
	}
	if err != nil {
		return object{}, nil, err
	}
	p := v.dataRow(o.seq)
	if !o.fits(p) {
		return object{}, nil, fmt.Errorf("%w: the frame of chunk %v has %d bytes, not %d", ErrCorrupt, id, len(p), o.stored+1)
	}
	return o, p, nil
}

// dataRow returns a row of the bucket data. Contents that are read one after another share
// it, so the last one is remembered.
func (v *View) dataRow(seq uint64) []byte {
	if seq == v.lastSeq && v.lastFrame != nil {
		return v.lastFrame
	}
	p := v.data.Get(seqKey(seq))
	v.file.touch(len(p), v.s.parts.mapped)
	if !v.tx.Writable() {
		v.lastSeq, v.lastFrame = seq, p
	}
	return p
}

// fits reports whether a row of the bucket data may be the frame of an object.
func (o object) fits(p []byte) bool {
	return len(p) == int(o.stored)+1 || o.form == part && len(p) > int(o.stored)
}

// expand decodes a frame and compares the bytes with their id. They are in buf if there is
// room, and nobody else has them.
func (v *View) expand(id oid.ID, o object, row, base, buf []byte) ([]byte, error) {
	raw, err := v.decode(id, o, row, base, buf)
	if err != nil {
		return nil, err
	}
	if v.s.meta.algorithm.Sum(o.kind, raw) != id {
		return nil, fmt.Errorf("%w: the bytes of chunk %v are not what they were", ErrCorrupt, id)
	}
	if o.form != delta {
		v.s.kept.keep(v, id, o, row, raw)
	}
	return raw, nil
}

// decode is expand for who compares the bytes himself.
func (v *View) decode(id oid.ID, o object, row, base, buf []byte) (raw []byte, err error) {
	if o.form == delta && base == nil {
		return nil, fmt.Errorf("%w: the base of a delta is a delta, chunk %v", ErrCorrupt, id)
	}
	if o.form == whole {
		if raw := v.s.kept.find(v, id, o, row, buf); raw != nil {
			return slices.Clip(raw), nil
		}
	}
	if o.form == part {
		raw, err = v.part(id, o, row, buf)
	} else {
		v.s.decoded.Add(1)
		raw, err = v.s.codecs.decode(row, base, buf, int(o.size))
	}
	if err != nil {
		return nil, fmt.Errorf("chunk %v: %w", id, err)
	}
	return slices.Clip(raw), nil
}
