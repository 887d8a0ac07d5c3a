package cas

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
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
// damaged, or name a frame that is another's. Nothing may be written meanwhile.
func (v *View) eachNote(fn func(noted), bad func(bucket []byte)) {
	var owners []owner // of frames that notes name
	first := true
	end := uint64(0) // of the frames of the notes so far, which come in their order
	c := v.tx.Cursor()
	for name, value := c.Seek([]byte(notePrefix)); bytes.HasPrefix(name, []byte(notePrefix)); name, value = c.Next() {
		if value != nil {
			bad(name) // not a bucket
			continue
		}
		n, ok := decodeNote(v.tx.Bucket(name).Cursor().First())
		if !ok || !bytes.Equal(n.bucket(), name) || n.first < end {
			bad(name)
			continue
		}
		if first {
			owners, first = v.ownersFrom(n.first), false
		}
		if end = n.first + uint64(len(n.chunks)); n.of(owners) {
			fn(n)
		} else {
			bad(name)
		}
	}
}

// An owner is the row that a frame has.
type owner struct {
	seq    uint64
	digest digest
}

// ownersFrom returns the owners of the frames from a number on, in their order. Damaged
// rows own nothing.
func (v *View) ownersFrom(first uint64) (owners []owner) {
	c := v.chunks.Cursor()
	for k, p := c.First(); k != nil; k, p = c.Next() {
		if row, err := decodeChunk(k, p); err == nil && row.seq >= first {
			o := owner{seq: row.seq}
			copy(o.digest[:], k)
			owners = append(owners, o)
		}
	}
	slices.SortFunc(owners, func(a, b owner) int { return cmp.Compare(a.seq, b.seq) })
	return owners
}

// of reports whether no frame that a note names has a row under another digest. A note
// that somebody made up could otherwise have such a frame taken from its owner.
func (n noted) of(owners []owner) bool {
	at, _ := slices.BinarySearchFunc(owners, n.first, func(o owner, seq uint64) int { return cmp.Compare(o.seq, seq) })
	for _, o := range owners[at:] {
		if o.seq >= n.first+uint64(len(n.chunks)) {
			break
		}
		if n.chunks[o.seq-n.first].digest != o.digest {
			return false
		}
	}
	return true
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
	if count == 0 || uint64(len(p)) < uint64(count)*notedBytes || n.first+uint64(count) < n.first {
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
