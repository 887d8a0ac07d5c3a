package cas

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A spill is what a large stage has of the frames that it has written, and that no row
// names yet. Rows under ids come in no order: were those of each load written with its
// frames, each load would touch every page of the table, and have all of them in
// memory. So frames are written first, and all rows at the end, in the order of their
// keys, few at a time.
//
// Until then each transaction's frames are listed by its manifest. So no frame is lost:
// the next large stage gives them their rows, whoever has spilled them, and so does a
// sweep.
type spill struct {
	begun     bool
	alone     bool     // what others have left has its rows
	bases     []oid.ID // of deltas
	manifests []manifest
	author    [authorBytes]byte // of the manifests to come
}

// A spilled object is one whose row is to be written.
type spilled struct {
	id     oid.ID
	object // seq 0: it was found in the store
}

// entry is what is kept of an object: its id, and idNote bytes.
func (p *spill) entry(c spilled) []byte {
	be, other := binary.BigEndian, c.at
	if c.form == delta {
		if n := len(p.bases); n == 0 || p.bases[n-1] != c.ref {
			p.bases = append(p.bases, c.ref)
		}
		other = uint32(len(p.bases) - 1)
	}
	e := append(c.id.Append(make([]byte, 0, idBytesMax+idNote)), byte(c.kind)|byte(c.form)<<4)
	e = be.AppendUint32(be.AppendUint64(e, c.seq), uint32(c.size))
	return be.AppendUint32(be.AppendUint32(e, c.stored), other)
}

func (p *spill) object(entry []byte) (c spilled, err error) {
	be, n := binary.BigEndian, len(entry)-idNote
	if c.id, err = oid.FromBytes(entry[:n]); err != nil {
		return c, err
	}
	note := entry[n:]
	c.kind, c.form, c.seq = oid.Kind(note[0]&15), form(note[0]>>4), be.Uint64(note[1:])
	c.size, c.stored = uint64(be.Uint32(note[9:])), be.Uint32(note[13:])
	switch other := be.Uint32(note[17:]); c.form {
	case delta:
		c.ref = p.bases[other]
	case part:
		c.at = other
	}
	return c, nil
}

// manifest returns the place of the manifest that lists a frame; -1 if it was found in
// the store.
func (p *spill) manifest(seq uint64) int {
	return sort.Search(len(p.manifests), func(i int) bool { return p.manifests[i].first > seq }) - 1
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

// spillLoad writes the frames of a load that the store does not have, and leaves their
// rows for later. Loads are spilled one after the other.
func (g *Stage) spillLoad(ctx context.Context, l *load) error {
	p := &g.spill
	if p.author == [authorBytes]byte{} {
		rand.Read(p.author[:])
	}
	m := manifest{author: p.author, written: g.s.now().Unix()}
	var written []*staged
	err := g.s.Update(ctx, func(u *Update) error {
		g.look(&u.View)
		var missing []*staged
		for i := range l.items {
			if c := &l.items[i]; c.frame != nil {
				_, _, bad := u.frame(c.id)
				if bad == nil {
					continue
				}
				if err := u.unbase(c, bad); err != nil {
					return err
				}
				missing = append(missing, c)
			}
		}
		var err error
		if m.first, err = u.putFrames(missing); err != nil || len(missing) == 0 {
			return err
		}
		written = missing
		if n := len(p.manifests); n > 0 && m.first <= p.manifests[n-1].first { // an older copy of the file was accepted
			return fmt.Errorf("frame %d: %w", m.first, ErrSwept)
		}
		return u.writeManifest(m, written)
	})
	if err != nil {
		return err
	}
	_ = g.s.idle.drop(nil) // what was written is mapped into memory, and nobody reads it soon
	g.mu.Lock()
	defer g.mu.Unlock()
	p.begun = true
	if len(written) > 0 {
		p.manifests = append(p.manifests, m)
	}
	for _, c := range written {
		e := p.entry(spilled{c.id, c.named(0)})
		copy(g.seen.note(c.id), e[len(e)-idNote:])
	}
	return nil
}
