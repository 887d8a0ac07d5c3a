package cas

import (
	"encoding/binary"
	"iter"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	idShards   = 256
	idSlotsMin = 4
	idNote     = 1 + 8 + 4 + 4 + 4 // bytes beside each id, see [spill.entry]
)

// An index finds the entries of a slab by the hashes with which they begin, whose own
// bytes say where they belong. It has no pointers, and grows in many small parts, each
// by a quarter, so that a growing index is never there twice.
type index struct {
	shards [][]uint32 // by the first byte of the hash: places in the slab, plus one; 0 is free
	filled []uint32   // slots of each shard
}

// slot returns the slot that a hash has in its shard, or would have.
func (x *index) slot(s *slab, hash []byte) *uint32 {
	shard := x.shards[hash[0]]
	n := uint32(len(shard))
	for i := binary.LittleEndian.Uint32(hash[1:]) % n; ; i = (i + 1) % n {
		if at := shard[i]; at == 0 || string(s.at(at - 1)[:len(hash)]) == string(hash) {
			return &shard[i]
		}
	}
}

// find returns the place of an entry, plus one; 0 if it is not there.
func (x *index) find(s *slab, hash []byte) uint32 {
	if x.shards == nil || x.filled[hash[0]] == 0 {
		return 0
	}
	return *x.slot(s, hash)
}

// add adds an entry to the slab, unless one with its hash is there.
func (x *index) add(s *slab, entry []byte, hashBytes int) (was bool) {
	hash := entry[:hashBytes]
	if x.shards == nil {
		x.shards, x.filled = make([][]uint32, idShards), make([]uint32, idShards)
	}
	if slots := len(x.shards[hash[0]]); int(x.filled[hash[0]]) >= slots*4/5 {
		x.grow(s, hash, max(idSlotsMin, slots*5/4+1))
	}
	slot := x.slot(s, hash)
	if *slot > 0 {
		return true
	}
	x.filled[hash[0]]++
	s.add(entry)
	*slot = uint32(s.n)
	return false
}

func (x *index) grow(s *slab, hash []byte, slots int) {
	old := x.shards[hash[0]]
	x.shards[hash[0]] = make([]uint32, slots)
	for _, at := range old {
		if at > 0 {
			*x.slot(s, s.at(at - 1)[:len(hash)]) = at
		}
	}
}

// An idTable is a set of object ids of one algorithm, with a few bytes beside each.
// An id takes some 46 bytes in it, for SHA-1.
type idTable struct {
	entries slab // the id, then the note
	index
}

// note returns the bytes beside an id, to be changed in place; nil if it is not
// there.
func (t *idTable) note(id oid.ID) []byte {
	var buf [idBytesMax]byte
	p := id.Append(buf[:0])
	if len(p) == 0 || len(p)+idNote != t.entries.width {
		return nil
	}
	if at := t.find(&t.entries, p); at > 0 {
		return t.entries.at(at - 1)[len(p):]
	}
	return nil
}

// add puts an id into the table, and reports whether it was there.
func (t *idTable) add(id oid.ID) (was bool) {
	var buf [idBytesMax + idNote]byte
	p := id.Append(buf[:0])
	return t.index.add(&t.entries, buf[:len(p)+idNote], len(p))
}

// all yields the ids in the order in which they were added.
func (t *idTable) all() iter.Seq[oid.ID] {
	return func(yield func(oid.ID) bool) {
		for i := range t.entries.n {
			p := t.entries.at(uint32(i))
			if id, err := oid.FromBytes(p[:len(p)-idNote]); err == nil && !yield(id) {
				return
			}
		}
	}
}

// forget clears all notes.
func (t *idTable) forget() {
	for i := range t.entries.n {
		p := t.entries.at(uint32(i))
		clear(p[len(p)-idNote:])
	}
}
