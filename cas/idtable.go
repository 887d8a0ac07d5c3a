package cas

import (
	"encoding/binary"
	"iter"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	idShards   = 256
	idSlotsMin = 4
	idNote     = 5 // bytes beside each id
)

// An idTable is a set of object ids of one algorithm, with a few bytes beside each.
// An id takes some 31 bytes in it, for SHA-1: there are no pointers, and it grows in
// many small parts, each by a quarter, so that a growing table is never there twice.
// Ids are hashes, so their own bytes say where they belong.
type idTable struct {
	entries slab       // the id, then the note
	shards  [][]uint32 // by the first byte of the id: places in entries, plus one; 0 is free
	filled  []uint32   // slots of each shard
}

// find returns the slot that an id has in its shard, or would have.
func (t *idTable) find(id []byte) (slot *uint32) {
	shard := t.shards[id[0]]
	n := uint32(len(shard))
	for i := binary.LittleEndian.Uint32(id[1:]) % n; ; i = (i + 1) % n {
		if at := shard[i]; at == 0 || string(t.entries.at(at - 1)[:len(id)]) == string(id) {
			return &shard[i]
		}
	}
}

// note returns the bytes beside an id, to be changed in place; nil if it is not
// there.
func (t *idTable) note(id oid.ID) []byte {
	var buf [digestBytes]byte
	p := id.Append(buf[:0])
	if len(p) == 0 || t.entries.n == 0 || len(p)+idNote != t.entries.width || t.filled[p[0]] == 0 {
		return nil
	}
	if at := *t.find(p); at > 0 {
		return t.entries.at(at - 1)[len(p):]
	}
	return nil
}

// add puts an id into the table, and reports whether it was there.
func (t *idTable) add(id oid.ID) (was bool) {
	var buf [digestBytes + idNote]byte
	p := id.Append(buf[:0])
	if t.shards == nil {
		t.shards, t.filled = make([][]uint32, idShards), make([]uint32, idShards)
	}
	if slots := len(t.shards[p[0]]); int(t.filled[p[0]]) >= slots*4/5 {
		t.grow(p[0], len(p), max(idSlotsMin, slots*5/4+1))
	}
	slot := t.find(p)
	if *slot > 0 {
		return true
	}
	t.filled[p[0]]++
	t.entries.add(buf[:len(p)+idNote])
	*slot = uint32(t.entries.n)
	return false
}

func (t *idTable) grow(shard byte, idBytes, slots int) {
	old := t.shards[shard]
	t.shards[shard] = make([]uint32, slots)
	for _, at := range old {
		if at > 0 {
			*t.find(t.entries.at(at - 1)[:idBytes]) = at
		}
	}
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
