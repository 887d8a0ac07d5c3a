package cas

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const placedChunkBytes = digestBytes + 4 + 4 + 4 + 4 + 4

// A placement is what a large stage has of the frames that it has written, and
// that no row names yet. Rows under digests come in no order: were those of each
// load written with its frames, each load would touch every page of the table, and
// have all of them in memory. So frames are written first, and all rows at the
// end, in the order of their keys, few at a time.
//
// Until then each transaction's frames are named by its note. So no frame is lost:
// the next large stage gives them their rows, whoever has placed them, and a sweep
// frees those of an old note.
type placement struct {
	chunks   slab     // a placedChunk each
	byDigest index    // of them
	bases    []digest // of deltas
	notes    []note
	author   [authorBytes]byte // of the notes to come
	finished bool              // what others have left has its rows
}

// A placedChunk is a chunk whose row is to be written. Without a note it was
// found in the store.
type placedChunk struct {
	digest      digest
	note        uint32 // its place among the notes, plus one
	seq         uint64
	raw, stored uint32
	base        digest
}

// set adds a chunk; one that is there already gets a frame, if it had none.
func (p *placement) set(c placedChunk) {
	e := p.encode(c)
	if !p.byDigest.add(&p.chunks, e, digestBytes) || c.note == 0 {
		return
	}
	if at := p.byDigest.find(&p.chunks, c.digest[:]); p.chunk(at-1).note == 0 {
		copy(p.chunks.at(at-1), e)
	}
}

func (p *placement) encode(c placedChunk) []byte {
	be := binary.BigEndian
	base, at := 0, uint64(0)
	if c.base != (digest{}) {
		if n := len(p.bases); n == 0 || p.bases[n-1] != c.base {
			p.bases = append(p.bases, c.base)
		}
		base = len(p.bases)
	}
	if c.note > 0 {
		at = c.seq - p.notes[c.note-1].first
	}
	e := append(make([]byte, 0, placedChunkBytes), c.digest[:]...)
	e = be.AppendUint32(be.AppendUint32(e, c.note), uint32(at))
	return be.AppendUint32(be.AppendUint32(be.AppendUint32(e, c.raw), c.stored), uint32(base))
}

func (p *placement) chunk(i uint32) (c placedChunk) {
	be, e := binary.BigEndian, p.chunks.at(i)
	copy(c.digest[:], e)
	e = e[digestBytes:]
	c.note, c.raw, c.stored = be.Uint32(e), be.Uint32(e[8:]), be.Uint32(e[12:])
	if c.note > 0 {
		c.seq = p.notes[c.note-1].first + uint64(be.Uint32(e[4:]))
	}
	if base := be.Uint32(e[16:]); base > 0 {
		c.base = p.bases[base-1]
	}
	return c
}

// has reports whether a frame of a chunk was placed.
func (p *placement) has(d digest) bool {
	at := p.byDigest.find(&p.chunks, d[:])
	return at > 0 && p.chunk(at-1).note > 0
}

// add takes over a load of which some chunks were written, in the order of their
// frames, and notes beside each of its objects which chunk it is.
func (p *placement) add(l *load, n note, written []stagedChunk, objects *idTable) {
	if len(written) > 0 {
		p.notes = append(p.notes, n)
	}
	for i := range written {
		c := &written[i]
		p.set(placedChunk{digest: c.digest, note: uint32(len(p.notes)), seq: n.first + uint64(i),
			raw: c.raw, stored: uint32(len(c.row) - 1), base: c.base})
	}
	for i := range l.chunks {
		p.set(placedChunk{digest: l.chunks[i].digest, raw: l.chunks[i].raw})
	}
	for i := range l.objects {
		o := &l.objects[i]
		if note := objects.note(o.id); note != nil {
			note[0] = byte(o.row.kind)
			binary.BigEndian.PutUint32(note[1:], p.byDigest.find(&p.chunks, o.row.digest[:]))
		}
	}
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

// takeOver gives rows to the frames that others have left, before the stage places
// its first: so it finds their contents. It is done in parts; if ctx ends, what was
// done stays, and the next load goes on.
func (g *Stage) takeOver(ctx context.Context) error {
	p := &g.placed
	if p.finished {
		return nil
	}
	err := g.s.nameOthers(ctx)
	if p.finished = err == nil; ctx.Err() != nil {
		return nil
	}
	return err
}

// place writes the frames of a load, and leaves their rows for later. What is named
// already is not written again. Loads are placed one after the other.
func (g *Stage) place(ctx context.Context, l *load) error {
	p := &g.placed
	if p.author == [authorBytes]byte{} {
		rand.Read(p.author[:])
	}
	var n note
	var written []stagedChunk
	err := g.s.Update(ctx, func(u *Update) (err error) {
		g.look(&u.View)
		n, written, err = u.place(p, l)
		return err
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p.add(l, n, written, &g.seen)
	return nil
}

// place returns the chunks whose frames it wrote, in the order of these, and the note.
func (u *Update) place(p *placement, l *load) (n note, written []stagedChunk, err error) {
	missing, named := u.missing(p, l.chunks)
	if err := u.meet(named, l.objects); err != nil || len(missing) == 0 {
		return n, nil, err
	}
	n.author = p.author
	err = u.putFrames(missing, func(c *stagedChunk, seq uint64) {
		if n.first == 0 {
			n.first = seq
		}
		written = append(written, *c)
	})
	if err != nil {
		return n, nil, err
	}
	return n, written, u.writeNote(n, written)
}

// missing returns the chunks of which there is no frame yet, and the rows of those
// that have one.
func (u *Update) missing(p *placement, chunks []stagedChunk) (missing []*stagedChunk, named map[digest]chunk) {
	seen := make(map[digest]bool, len(chunks))
	named = map[digest]chunk{}
	for i := range chunks {
		c := &chunks[i]
		if seen[c.digest] {
			continue
		}
		if row, _, err := u.frame(c.digest); err == nil {
			named[c.digest], seen[c.digest] = row, true
		} else if c.row != nil && !p.has(c.digest) {
			missing, seen[c.digest] = append(missing, c), true
		}
	}
	return missing, named
}

// meet makes young what is there already: chunks, and the objects that are one of
// them.
func (u *Update) meet(named map[digest]chunk, objects []stagedObject) error {
	now := u.s.now().Unix()
	var rows, old []keyed
	for d, c := range named {
		if c.written < now-renewSeconds {
			c.written = now
			key := bytes.Clone(d[:])
			rows = append(rows, keyed{key, c.encode(key)})
		}
	}
	for i := range objects {
		o := &objects[i]
		if _, is := named[o.row.digest]; !is {
			continue
		}
		key := o.id.Bytes()
		if row, err := decodeObject(key, u.objects.Get(key)); err == nil && row.written < now-renewSeconds {
			row.written = now
			old = append(old, keyed{key, row.encode(key)})
		}
	}
	byKey := func(a, b keyed) int { return cmp.Compare(string(a.key), string(b.key)) }
	slices.SortFunc(rows, byKey)
	slices.SortFunc(old, byKey)
	for _, r := range rows {
		if err := u.put(u.chunks, chunksName, r.key, r.row); err != nil {
			return err
		}
	}
	for _, r := range old {
		if err := u.put(u.objects, objectsName, r.key, r.row); err != nil {
			return err
		}
	}
	return nil
}

// findPlaced looks for the items that were not found among the frames of the stage that
// have no rows yet.
func (g *Stage) findPlaced(b *batch, out []found) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range b.items {
		if !out[i].chunk && g.placed.has(b.items[i].digest) {
			out[i] = found{chunk: true}
		}
	}
}
