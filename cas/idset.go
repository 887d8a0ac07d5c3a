package cas

import (
	"encoding/binary"
	"iter"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	idShards   = 256
	idSlotsMin = 4
)

// An idSet is a set of object ids of one algorithm. A million ids take some 30 MB in
// it: there are no pointers, no more bytes than an id has, and it grows in many
// small parts, each by a quarter, so that a growing set is never there twice. Ids are
// hashes, so their own bytes say where they belong.
type idSet struct {
	width  int
	shards []idShard // by the first byte of the id; nil while the set is empty
}

type idShard struct {
	slots []byte // zero: free
	n     int
}

// find returns the slot that an id has, or would have.
func (s *idShard) find(id []byte) (slot []byte, found bool) {
	n := uint32(len(s.slots) / len(id))
	for i := binary.LittleEndian.Uint32(id[1:]) % n; ; i = (i + 1) % n {
		slot = s.slots[int(i)*len(id):][:len(id)]
		if string(slot) == string(id) {
			return slot, true
		}
		if free(slot) {
			return slot, false
		}
	}
}

func free(slot []byte) bool {
	for _, b := range slot {
		if b != 0 {
			return false
		}
	}
	return true
}

func (s *idSet) has(id oid.ID) bool {
	var buf [digestBytes]byte
	p := id.Append(buf[:0])
	if len(p) != s.width || s.shards == nil || s.shards[p[0]].n == 0 {
		return false
	}
	_, found := s.shards[p[0]].find(p)
	return found
}

// add puts an id into the set, and reports whether it was there. An id of zeros
// alone is none.
func (s *idSet) add(id oid.ID) (was bool) {
	var buf [digestBytes]byte
	p := id.Append(buf[:0])
	if free(p) {
		return false
	}
	if s.shards == nil {
		s.width, s.shards = len(p), make([]idShard, idShards)
	}
	shard := &s.shards[p[0]]
	if slots := len(shard.slots) / s.width; shard.n >= slots*4/5 {
		shard.grow(max(idSlotsMin, slots*5/4+1), s.width)
	}
	slot, was := shard.find(p)
	if !was {
		copy(slot, p)
		shard.n++
	}
	return was
}

func (s *idShard) grow(slots, width int) {
	old := s.slots
	s.slots = make([]byte, slots*width)
	for ; len(old) > 0; old = old[width:] {
		if !free(old[:width]) {
			slot, _ := s.find(old[:width])
			copy(slot, old)
		}
	}
}

// all yields the ids, in no order.
func (s *idSet) all() iter.Seq[oid.ID] {
	return func(yield func(oid.ID) bool) {
		for i := range s.shards {
			for p := s.shards[i].slots; len(p) > 0; p = p[s.width:] {
				if free(p[:s.width]) {
					continue
				}
				if id, err := oid.FromBytes(p[:s.width]); err == nil && !yield(id) {
					return
				}
			}
		}
	}
}
