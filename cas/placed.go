package cas

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	placedName = "placed"
	noteBytes  = 16
	// rowsEach are written in one transaction. In the order of their keys they
	// lie on few pages, and bbolt keeps all of these in memory until it ends.
	rowsEach = 16 << 10
	// sortedFillPercent is for rows that come in the order of their keys into
	// a table that has few between them.
	sortedFillPercent = 0.9
	placedChunkBytes  = digestBytes + 8 + 4 + 4 + 4
)

var placedBucket = []byte(placedName)

// A placement is what a large stage has of the frames that it has written, and
// that no row names yet. Rows under digests come in no order: were those of each
// load written with its frames, each load would touch every page of the table, and
// have all of them in memory. So frames are written first, and all rows at the
// end, in the order of their keys, few at a time.
//
// A frame without a row is harmless. So that a sweep frees it if the rows never
// come, each transaction that places frames notes which, in the bucket "placed".
type placement struct {
	chunks slab     // a placedChunk each
	bases  []digest // of deltas
	notes  [][]byte // keys of the notes
}

// A placedChunk is a chunk whose row is to be written. Without a number it was
// found in the store.
type placedChunk struct {
	digest      digest
	seq         uint64
	raw, stored uint32
	base        digest
}

// add takes over a load whose frames were placed, and notes beside each of its
// objects which chunk it is.
func (p *placement) add(l *load, seqs map[digest]uint64, objects *idTable) {
	be := binary.BigEndian
	at := make(map[digest]uint32, len(l.chunks))
	buf := make([]byte, 0, placedChunkBytes)
	for i := range l.chunks {
		c := &l.chunks[i]
		if at[c.digest] > 0 {
			continue
		}
		base := 0
		if c.base != (digest{}) {
			if n := len(p.bases); n == 0 || p.bases[n-1] != c.base {
				p.bases = append(p.bases, c.base)
			}
			base = len(p.bases)
		}
		buf = be.AppendUint64(append(buf[:0], c.digest[:]...), seqs[c.digest])
		buf = be.AppendUint32(be.AppendUint32(buf, c.raw), uint32(max(len(c.row), 1)-1))
		p.chunks.add(be.AppendUint32(buf, uint32(base)))
		at[c.digest] = uint32(p.chunks.n)
	}
	for i := range l.objects {
		o := &l.objects[i]
		if note := objects.note(o.id); note != nil {
			note[0] = byte(o.row.kind)
			be.PutUint32(note[1:], at[o.row.digest])
		}
	}
}

func (p *placement) chunk(i uint32) (c placedChunk) {
	be, e := binary.BigEndian, p.chunks.at(i)
	copy(c.digest[:], e)
	e = e[digestBytes:]
	c.seq, c.raw, c.stored = be.Uint64(e), be.Uint32(e[8:]), be.Uint32(e[12:])
	if base := be.Uint32(e[16:]); base > 0 {
		c.base = p.bases[base-1]
	}
	return c
}

// object returns an object that is to get its row; ok is false where it has one.
func (p *placement) object(entry []byte) (o stagedObject, ok bool) {
	n := len(entry) - idNote
	at := binary.BigEndian.Uint32(entry[n+1:])
	if at == 0 {
		return o, false
	}
	c := p.chunk(at - 1)
	id, err := oid.FromBytes(entry[:n])
	o.id, o.row = id, object{kind: oid.Kind(entry[n]), size: uint64(c.raw), digest: c.digest}
	return o, err == nil
}

// place writes the frames of a load, and leaves their rows for later.
func (g *Stage) place(ctx context.Context, l *load) error {
	var seqs map[digest]uint64
	var note []byte
	err := g.s.Update(ctx, func(u *Update) (err error) {
		g.look(&u.View)
		seqs, note, err = u.place(l.chunks)
		return err
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.placed.add(l, seqs, &g.seen)
	if note != nil {
		g.placed.notes = append(g.placed.notes, note)
	}
	return nil
}

// place returns the numbers of the frames that it wrote, and the key of the note.
func (u *Update) place(chunks []stagedChunk) (seqs map[digest]uint64, note []byte, err error) {
	var missing []*stagedChunk
	seqs = make(map[digest]uint64, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		if _, twice := seqs[c.digest]; twice || c.row == nil || u.named(c.digest) {
			continue
		}
		seqs[c.digest] = 0
		missing = append(missing, c)
	}
	if len(missing) == 0 {
		return seqs, nil, nil
	}
	var first, last uint64
	err = u.putFrames(missing, func(c *stagedChunk, seq uint64) {
		if seqs[c.digest], last = seq, seq; first == 0 {
			first = seq
		}
	})
	if err != nil {
		return nil, nil, err
	}
	b, err := u.tx.CreateBucketIfNotExists(placedBucket)
	if err != nil {
		return nil, nil, err
	}
	be := binary.BigEndian
	note = seqKey(first)
	value := be.AppendUint64(be.AppendUint64(make([]byte, 0, noteBytes+sealBytes), last), uint64(u.s.now().Unix()))
	return seqs, note, u.put(b, placedName, note, seal(note, value))
}

// named reports whether a chunk has a row, and a frame that fits it.
func (v *View) named(d digest) bool {
	if v.chunks.Get(d[:]) == nil {
		return false
	}
	_, _, err := v.frame(d)
	return err == nil
}

// name writes the rows of all frames that the stage has placed, and then those of
// the objects they are of. What was written before an error is met again by the
// next try.
func (g *Stage) name(ctx context.Context) error {
	p := &g.placed
	for run := range slices.Chunk(p.chunks.sorted(digestBytes), rowsEach) {
		err := g.s.Update(ctx, func(u *Update) error { return u.nameChunks(p, run, g.sweeps != u.Sweeps()) })
		if err != nil {
			return err
		}
	}
	for run := range slices.Chunk(g.seen.entries.sorted(g.s.meta.algorithm.Size()), rowsEach) {
		err := g.s.Update(ctx, func(u *Update) error { return u.nameObjects(g, run, g.sweeps != u.Sweeps()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// nameChunks writes the rows of some chunks. If the store was swept since the
// stage first looked at it, their frames may be gone.
func (u *Update) nameChunks(p *placement, run []uint32, swept bool) error {
	if sparse(u.chunks, p.chunks.n) {
		u.chunks.FillPercent = sortedFillPercent
	}
	now := u.s.now().Unix()
	for _, i := range run {
		if err := u.nameChunk(p.chunk(i), now, swept); err != nil {
			return err
		}
	}
	return nil
}

// nameChunk writes the row of a chunk, unless somebody else has written it
// meanwhile: then the frame is not needed.
func (u *Update) nameChunk(c placedChunk, now int64, swept bool) error {
	key := c.digest[:]
	if u.chunks.Get(key) != nil {
		if old, _, err := u.frame(c.digest); err == nil {
			return u.alreadyNamed(c, old, now)
		}
	}
	if c.seq == 0 || swept && len(u.data.Get(seqKey(c.seq))) != int(c.stored)+1 {
		return fmt.Errorf("chunk %x: %w", key, ErrSwept)
	}
	if err := u.checkBase(c.base); err != nil {
		return err
	}
	row := chunk{seq: c.seq, raw: c.raw, stored: c.stored, written: now, base: c.base}
	return u.put(u.chunks, chunksName, key, row.encode(key))
}

func (u *Update) alreadyNamed(c placedChunk, old chunk, now int64) error {
	if c.seq != 0 && old.seq != c.seq {
		if err := u.data.Delete(seqKey(c.seq)); err != nil {
			return err
		}
	}
	if old.written >= now-renewSeconds {
		return nil
	}
	old.written = now
	return u.put(u.chunks, chunksName, c.digest[:], old.encode(c.digest[:]))
}

func (u *Update) nameObjects(g *Stage, run []uint32, swept bool) error {
	if sparse(u.objects, g.seen.entries.n) {
		u.objects.FillPercent = sortedFillPercent
	}
	objects := make([]stagedObject, 0, len(run))
	for _, at := range run {
		o, ok := g.placed.object(g.seen.entries.at(at))
		if !ok {
			continue
		}
		if swept && u.chunks.Get(o.row.digest[:]) == nil {
			return fmt.Errorf("object %v: %w", o.id, ErrSwept)
		}
		objects = append(objects, o)
	}
	return u.writeObjects(objects, u.s.now().Unix())
}

// sparse reports whether a table whose keys are hashes has fewer rows than are
// to be added. It counts a 256th of them.
func sparse(b *bolt.Bucket, added int) bool {
	n, c := 0, b.Cursor()
	for k, _ := c.First(); k != nil && k[0] == 0 && n*256 <= added; k, _ = c.Next() {
		n++
	}
	return n*256 <= added
}

// forgetNotes is called in the transaction after which all placed frames have
// their rows.
func (u *Update) forgetNotes(notes [][]byte) error {
	b := u.tx.Bucket(placedBucket)
	for i := 0; b != nil && i < len(notes); i++ {
		if err := b.Delete(notes[i]); err != nil {
			return err
		}
	}
	return nil
}

// free frees the frames that a stage has placed and that have no row.
func (g *Stage) free(ctx context.Context) error {
	p := &g.placed
	if p.chunks.n == 0 {
		return nil
	}
	for from := 0; from < p.chunks.n; from += rowsEach {
		err := g.s.Update(ctx, func(u *Update) error {
			for i := from; i < min(from+rowsEach, p.chunks.n); i++ {
				if err := u.freeFrame(p.chunk(uint32(i))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return g.s.Update(ctx, func(u *Update) error { return u.forgetNotes(p.notes) })
}

// freeFrame deletes a frame, unless the row of its chunk names it.
func (u *Update) freeFrame(c placedChunk) error {
	if c.seq == 0 || len(u.data.Get(seqKey(c.seq))) != int(c.stored)+1 {
		return nil
	}
	if row := u.chunks.Get(c.digest[:]); row != nil {
		if old, err := decodeChunk(c.digest[:], row); err != nil || old.seq == c.seq {
			return err
		}
	}
	return u.data.Delete(seqKey(c.seq))
}

// unnamed returns the frames that old notes speak of and no row names, with their
// sizes, and the keys of those notes.
func (w *sweeper) unnamed() (frames map[uint64]int, notes [][]byte, err error) {
	b := w.u.tx.Bucket(placedBucket)
	if b == nil {
		return nil, nil, nil
	}
	frames = map[uint64]int{}
	data, be := w.u.data.Cursor(), binary.BigEndian
	err = b.ForEach(func(k, v []byte) error {
		note, ok := unseal(k, v)
		if !ok || len(k) != 8 || len(note) != noteBytes {
			return fmt.Errorf("%w: the note of placed frames %x", ErrCorrupt, k)
		}
		if int64(be.Uint64(note[8:])) >= w.before {
			return nil
		}
		notes = append(notes, slices.Clone(k))
		for at, row := data.Seek(k); len(at) == 8 && be.Uint64(at) <= be.Uint64(note); at, row = data.Next() {
			frames[be.Uint64(at)] = len(row)
		}
		return nil
	})
	if err == nil && len(frames) > 0 {
		err = w.eachChunk(func(_ []byte, c chunk) { delete(frames, c.seq) })
	}
	return frames, notes, err
}
