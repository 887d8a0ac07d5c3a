package cas

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	manifestPrefix    = "spill/"
	authorBytes       = 16
	manifestHeadBytes = 8 + 8 + 4
	listedBytes       = 1 + 1 + 4 + 4 + 4 + 4 // of an object beside its id, and the base of a delta
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
func (u *Update) writeManifest(m manifest, written []*staged) error {
	name := m.bucket()
	b, err := u.tx.CreateBucketIfNotExists(name)
	if err != nil {
		return err
	}
	return u.put(b, string(name), m.author[:], m.encode(written))
}

func (m manifest) encode(written []*staged) []byte {
	be := binary.BigEndian
	p := be.AppendUint64(be.AppendUint64(nil, m.first), uint64(m.written))
	p = be.AppendUint32(p, uint32(len(written)))
	for _, c := range written {
		p = append(c.id.Append(p), byte(c.kind), byte(c.form))
		p = be.AppendUint32(be.AppendUint32(p, uint32(c.frame.seq-m.first)), c.size)
		p = c.base.Append(be.AppendUint32(be.AppendUint32(p, c.stored), c.at))
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
func (v *View) eachManifest(fn func(m manifest, list []spilled)) {
	c := v.tx.Cursor()
	for name, value := c.Seek([]byte(manifestPrefix)); bytes.HasPrefix(name, []byte(manifestPrefix)); name, value = c.Next() {
		if value != nil {
			continue // not a bucket
		}
		k, p := v.tx.Bucket(name).Cursor().First()
		if m, list, ok := decodeManifest(k, p, v.s.meta.algorithm.Size()); ok && bytes.Equal(m.bucket(), name) {
			fn(m, list)
		}
	}
}

// decodeManifest reads a manifest, with ids of so many bytes.
func decodeManifest(k, v []byte, width int) (m manifest, list []spilled, ok bool) {
	be := binary.BigEndian
	p, ok := unseal(k, v)
	if !ok || len(k) != authorBytes || len(p) < manifestHeadBytes {
		return m, nil, false
	}
	copy(m.author[:], k)
	m.first, m.written = be.Uint64(p), int64(be.Uint64(p[8:]))
	count := be.Uint32(p[16:])
	p = p[manifestHeadBytes:]
	if uint64(len(p)) < uint64(count)*uint64(width+listedBytes) || m.first == 0 {
		return m, nil, false
	}
	list = make([]spilled, count)
	for i := range list {
		c := &list[i]
		if len(p) < width+listedBytes {
			return m, nil, false
		}
		c.id, _ = oid.FromBytes(p[:width])
		p = p[width:]
		c.kind, c.form, c.seq = oid.Kind(p[0]), form(p[1]), m.first+uint64(be.Uint32(p[2:]))
		c.size, c.stored, c.at = uint64(be.Uint32(p[6:])), be.Uint32(p[10:]), be.Uint32(p[14:])
		p = p[listedBytes:]
		if c.form == delta && len(p) >= width {
			c.ref, _ = oid.FromBytes(p[:width])
			p = p[width:]
		}
		key := c.id.Bytes()
		if _, err := decodeObject(key, c.encode(key)); c.id.IsZero() || err != nil || c.seq < m.first || c.form != part && c.at > 0 {
			return m, nil, false
		}
	}
	return m, list, len(p) == 0
}

// spilled counts the frames without a row that manifests from before a time list, and
// their bytes.
func (v *View) spilled(before int64) (frames int, n int64) {
	v.eachManifest(func(m manifest, list []spilled) {
		if m.written >= before {
			return
		}
		for _, c := range list {
			if o, err := v.object(c.id); err != nil || o.seq != c.seq {
				frames, n = frames+1, n+int64(c.stored)
			}
		}
	})
	return frames, n
}
