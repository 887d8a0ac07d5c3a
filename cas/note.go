package cas

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

const (
	notePrefix    = "placed/"
	authorBytes   = 16
	noteHeadBytes = 8 + 8 + 4
	// a noted chunk is followed by its base, if it is a delta
	notedBytes = digestBytes + 4 + 4 + 1
)

// A note names the frames that one transaction has placed: it is their rows, not
// sorted yet. It has a bucket of its own, so that to write it touches no other.
type note struct {
	first  uint64            // number of the first frame; the others follow
	author [authorBytes]byte // the stage, by a random name
}

func (n note) bucket() []byte { return fmt.Appendf(nil, "%s%016x", notePrefix, n.first) }

// writeNote notes frames, in the order of their numbers.
func (u *Update) writeNote(n note, chunks []stagedChunk) error {
	name := n.bucket()
	b, err := u.tx.CreateBucketIfNotExists(name)
	if err != nil {
		return err
	}
	return u.put(b, string(name), n.author[:], n.encode(u.s.now().Unix(), chunks))
}

func (n note) encode(written int64, chunks []stagedChunk) []byte {
	be := binary.BigEndian
	p := make([]byte, 0, noteHeadBytes+len(chunks)*(notedBytes+1)+sealBytes)
	p = be.AppendUint64(be.AppendUint64(p, n.first), uint64(written))
	p = be.AppendUint32(p, uint32(len(chunks)))
	for i := range chunks {
		c := &chunks[i]
		p = be.AppendUint32(be.AppendUint32(append(p, c.digest[:]...), c.raw), uint32(len(c.row)-1))
		if c.base == (digest{}) {
			p = append(p, 0)
		} else {
			p = append(append(p, 1), c.base[:]...)
		}
	}
	return seal(n.author[:], p)
}

// holds reports whether a note is there as its author wrote it. Then its frames are
// those that it was written with.
func (v *View) holds(n note) bool {
	b := v.tx.Bucket(n.bucket())
	return b != nil && b.Get(n.author[:]) != nil
}

// holdsEach is holds for several notes.
func (v *View) holdsEach(notes []note) []bool {
	out := make([]bool, len(notes))
	for i, n := range notes {
		out[i] = v.holds(n)
	}
	return out
}

// forgetNotes deletes those of the notes that are there as they were written.
func (u *Update) forgetNotes(notes []note) error {
	for _, n := range notes {
		if !u.holds(n) {
			continue
		}
		if err := u.tx.DeleteBucket(n.bucket()); err != nil {
			return err
		}
	}
	return nil
}

// A noted is what a note says.
type noted struct {
	note
	written int64
	bytes   int // of the note
	chunks  []placedChunk
}

// eachNote calls fn with each note in turn, and bad with the names of those that are
// damaged. Nothing may be written meanwhile.
func (v *View) eachNote(fn func(noted), bad func(bucket []byte)) {
	c := v.tx.Cursor()
	for name, value := c.Seek([]byte(notePrefix)); bytes.HasPrefix(name, []byte(notePrefix)); name, value = c.Next() {
		if value != nil {
			bad(name) // not a bucket
			continue
		}
		if n, ok := decodeNote(v.tx.Bucket(name).Cursor().First()); ok && bytes.Equal(n.bucket(), name) {
			fn(n)
		} else {
			bad(name)
		}
	}
}

func decodeNote(k, v []byte) (n noted, ok bool) {
	be := binary.BigEndian
	p, ok := unseal(k, v)
	if !ok || len(k) != authorBytes || len(p) < noteHeadBytes {
		return n, false
	}
	copy(n.author[:], k)
	n.bytes = len(v)
	n.first, n.written = be.Uint64(p), int64(be.Uint64(p[8:]))
	count := be.Uint32(p[16:])
	p = p[noteHeadBytes:]
	if uint64(len(p)) < uint64(count)*notedBytes || n.first+uint64(count) < n.first {
		return n, false
	}
	n.chunks = make([]placedChunk, count)
	for i := range n.chunks {
		c := &n.chunks[i]
		if len(p) < notedBytes {
			return n, false
		}
		copy(c.digest[:], p)
		c.seq, c.raw, c.stored = n.first+uint64(i), be.Uint32(p[digestBytes:]), be.Uint32(p[digestBytes+4:])
		delta := p[notedBytes-1]
		if p = p[notedBytes:]; c.raw > chunkBytesMax || c.stored > c.raw || delta > 1 || len(p) < int(delta)*digestBytes {
			return n, false
		}
		p = p[copy(c.base[:int(delta)*digestBytes], p):]
		if (delta == 1) != (c.base != digest{}) {
			return n, false
		}
	}
	return n, len(p) == 0
}

// unnamed returns the bytes of the notes, and of the frames that have no row yet.
func (v *View) unnamed() (n int64) {
	v.eachNote(func(of noted) {
		n += int64(of.bytes)
		for _, c := range of.chunks {
			row, err := decodeChunk(c.digest[:], v.chunks.Get(c.digest[:]))
			if err != nil || row.seq != c.seq {
				n += int64(len(v.data.Get(seqKey(c.seq))))
			}
		}
	}, func([]byte) {})
	return n
}
