package cas

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const spilledBytes = digestBytes + 8 + 4 + 4 + 4

// A spill is what a large stage has of the frames that it has written, and that no row
// names yet. Rows under digests come in no order: were those of each load written with
// its frames, each load would touch every page of the table, and have all of them in
// memory. So frames are written first, and all rows at the end, in the order of their
// keys, few at a time.
//
// Until then each transaction's frames are listed by its manifest. So no frame is lost:
// the next large stage gives them their rows, whoever has spilled them, and so does a
// sweep.
type spill struct {
	chunks    slab     // a spilledChunk each
	byDigest  index    // of them
	bases     []digest // of deltas
	manifests []manifest
	author    [authorBytes]byte // of the manifests to come
	alone     bool              // what others have left has its rows
}

// A spilledChunk is a chunk whose row is to be written.
type spilledChunk struct {
	digest      digest
	seq         uint64 // 0: it was found in the store
	raw, stored uint32
	base        digest
}

// set adds a chunk; one that is there already gets a frame, if it had none.
func (p *spill) set(c spilledChunk) {
	e := p.encode(c)
	if !p.byDigest.add(&p.chunks, e, digestBytes) || c.seq == 0 {
		return
	}
	if at := p.byDigest.find(&p.chunks, c.digest[:]); p.chunk(at-1).seq == 0 {
		copy(p.chunks.at(at-1), e)
	}
}

func (p *spill) encode(c spilledChunk) []byte {
	be, base := binary.BigEndian, 0
	if c.base != (digest{}) {
		if n := len(p.bases); n == 0 || p.bases[n-1] != c.base {
			p.bases = append(p.bases, c.base)
		}
		base = len(p.bases)
	}
	e := append(make([]byte, 0, spilledBytes), c.digest[:]...)
	e = be.AppendUint32(be.AppendUint64(e, c.seq), c.raw)
	return be.AppendUint32(be.AppendUint32(e, c.stored), uint32(base))
}

func (p *spill) chunk(i uint32) (c spilledChunk) {
	be, e := binary.BigEndian, p.chunks.at(i)
	copy(c.digest[:], e)
	e = e[digestBytes:]
	c.seq, c.raw, c.stored = be.Uint64(e), be.Uint32(e[8:]), be.Uint32(e[12:])
	if base := be.Uint32(e[16:]); base > 0 {
		c.base = p.bases[base-1]
	}
	return c
}

// manifest returns the place of the manifest that lists a frame; -1 if it was found in
// the store.
func (p *spill) manifest(seq uint64) int {
	return sort.Search(len(p.manifests), func(i int) bool { return p.manifests[i].first > seq }) - 1
}

// has reports whether a frame of a chunk was spilled.
func (p *spill) has(d digest) bool {
	at := p.byDigest.find(&p.chunks, d[:])
	return at > 0 && p.chunk(at-1).seq > 0
}

// add takes over a load of which some chunks were written, in the order of their
// frames, and notes beside each of its objects which chunk it is.
func (p *spill) add(l *load, m manifest, written []stagedChunk, objects *idTable) {
	if len(written) > 0 {
		p.manifests = append(p.manifests, m)
	}
	for i := range written {
		c := &written[i]
		p.set(spilledChunk{digest: c.digest, seq: m.first + uint64(i), raw: c.raw, stored: uint32(len(c.row) - 1), base: c.base})
	}
	for i := range l.chunks {
		p.set(spilledChunk{digest: l.chunks[i].digest, raw: l.chunks[i].raw})
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
func (p *spill) object(entry []byte) (o stagedObject, ok bool) {
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

// indexOthers gives rows to the frames that others have left, before the stage spills
// its first: so it finds their contents. It is done in parts; if ctx ends, what was
// done stays, and the next load goes on.
func (g *Stage) indexOthers(ctx context.Context) error {
	if g.spill.alone {
		return nil
	}
	err := g.s.indexSpilled(ctx)
	if g.spill.alone = err == nil; ctx.Err() != nil {
		return nil
	}
	return err
}

// spillLoad writes the frames of a load, and leaves their rows for later. Loads are
// spilled one after the other.
func (g *Stage) spillLoad(ctx context.Context, l *load) error {
	p := &g.spill
	if p.author == [authorBytes]byte{} {
		rand.Read(p.author[:])
	}
	m := manifest{author: p.author, written: g.s.now().Unix()}
	var written []stagedChunk
	err := g.s.Update(ctx, func(u *Update) error {
		g.look(&u.View)
		err := u.putFrames(u.missing(p, l.chunks), func(c *stagedChunk, seq uint64) {
			if m.first == 0 {
				m.first = seq
			}
			written = append(written, *c)
		})
		if err != nil || len(written) == 0 {
			return err
		}
		if n := len(p.manifests); n > 0 && m.first <= p.manifests[n-1].first { // an older copy of the file was accepted
			return fmt.Errorf("frame %d: %w", m.first, ErrSwept)
		}
		return u.writeManifest(m, written)
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p.add(l, m, written, &g.seen)
	return nil
}

// missing returns the chunks of which there is no frame yet.
func (u *Update) missing(p *spill, chunks []stagedChunk) (missing []*stagedChunk) {
	seen := make(map[digest]bool, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		if c.row == nil || seen[c.digest] || p.has(c.digest) {
			continue
		}
		if _, _, err := u.frame(c.digest); err != nil {
			missing, seen[c.digest] = append(missing, c), true
		}
	}
	return missing
}

// findSpilled looks for the items that were not found among the frames that the stage
// has spilled.
func (g *Stage) findSpilled(b *batch, out []found) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range b.items {
		if !out[i].chunk && g.spill.has(b.items[i].digest) {
			out[i] = found{chunk: true}
		}
	}
}
