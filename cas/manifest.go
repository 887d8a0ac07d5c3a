package cas

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

const (
	manifestPrefix    = "spill/"
	authorBytes       = 16
	manifestHeadBytes = 8 + 8 + 4
	// a chunk in a manifest is followed by its base, if it is a delta
	listedBytes = digestBytes + 4 + 4 + 1
)

// A manifest lists the frames that one transaction of a stage has spilled: it is their
// rows, not sorted yet. It has a bucket of its own, so that to write it touches no other.
type manifest struct {
	first   uint64            // number of the first frame; the others follow
	author  [authorBytes]byte // the stage, by a random name
	written int64             // unix seconds
}

func (m manifest) bucket() []byte { return fmt.Appendf(nil, "%s%016x", manifestPrefix, m.first) }

// writeManifest lists frames, in the order of their numbers.
func (u *Update) writeManifest(m manifest, chunks []stagedChunk) error {
	name := m.bucket()
	b, err := u.tx.CreateBucketIfNotExists(name)
	if err != nil {
		return err
	}
	return u.put(b, string(name), m.author[:], m.encode(chunks))
}

func (m manifest) encode(chunks []stagedChunk) []byte {
	be := binary.BigEndian
	p := make([]byte, 0, manifestHeadBytes+len(chunks)*(listedBytes+1)+sealBytes)
	p = be.AppendUint64(be.AppendUint64(p, m.first), uint64(m.written))
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
	return seal(m.author[:], p)
}

// holds reports whether a manifest is there as its author wrote it. Then its frames are
// those that it was written with.
func (v *View) holds(m manifest) bool {
	b := v.tx.Bucket(m.bucket())
	return b != nil && b.Get(m.author[:]) != nil
}

// dropManifests deletes those of the manifests that are there as they were written.
func (u *Update) dropManifests(list []manifest) error {
	for _, m := range list {
		if !u.holds(m) {
			continue
		}
		if err := u.tx.DeleteBucket(m.bucket()); err != nil {
			return err
		}
	}
	return nil
}

// eachManifest calls fn with each manifest and what it lists, in the order of the
// frames. One that is damaged lists nothing. Nothing may be written meanwhile.
func (v *View) eachManifest(fn func(m manifest, chunks []spilledChunk)) {
	c := v.tx.Cursor()
	for name, value := c.Seek([]byte(manifestPrefix)); bytes.HasPrefix(name, []byte(manifestPrefix)); name, value = c.Next() {
		if value != nil {
			continue // not a bucket
		}
		k, p := v.tx.Bucket(name).Cursor().First()
		if m, chunks, ok := decodeManifest(k, p); ok && bytes.Equal(m.bucket(), name) {
			fn(m, chunks)
		}
	}
}

func decodeManifest(k, v []byte) (m manifest, chunks []spilledChunk, ok bool) {
	be := binary.BigEndian
	p, ok := unseal(k, v)
	if !ok || len(k) != authorBytes || len(p) < manifestHeadBytes {
		return m, nil, false
	}
	copy(m.author[:], k)
	m.first, m.written = be.Uint64(p), int64(be.Uint64(p[8:]))
	count := be.Uint32(p[16:])
	p = p[manifestHeadBytes:]
	if uint64(len(p)) < uint64(count)*listedBytes || m.first == 0 || m.first+uint64(count) < m.first {
		return m, nil, false
	}
	chunks = make([]spilledChunk, count)
	for i := range chunks {
		c := &chunks[i]
		if len(p) < listedBytes {
			return m, nil, false
		}
		copy(c.digest[:], p)
		c.seq, c.raw, c.stored = m.first+uint64(i), be.Uint32(p[digestBytes:]), be.Uint32(p[digestBytes+4:])
		delta := p[listedBytes-1]
		if p = p[listedBytes:]; c.raw > chunkBytesMax || c.stored > c.raw || delta > 1 || len(p) < int(delta)*digestBytes {
			return m, nil, false
		}
		p = p[copy(c.base[:int(delta)*digestBytes], p):]
		if (delta == 1) != (c.base != digest{}) {
			return m, nil, false
		}
	}
	return m, chunks, len(p) == 0
}

// spilled counts the frames without a row that manifests from before a time list, and
// their bytes.
func (v *View) spilled(before int64) (frames int, n int64) {
	v.eachManifest(func(m manifest, chunks []spilledChunk) {
		if m.written >= before {
			return
		}
		for _, c := range chunks {
			if row, err := decodeChunk(c.digest[:], v.chunks.Get(c.digest[:])); err != nil || row.seq != c.seq {
				frames, n = frames+1, n+int64(c.stored)
			}
		}
	})
	return frames, n
}
