package oid

import (
	"hash/maphash"
	"math"
)

// An Index finds the places of ids in a list. It is for many of them: it takes four
// to eight bytes for each beside the list itself, where a map takes a hundred while
// it grows. The zero value has an empty list. Only who adds to it must be alone.
type Index struct {
	ids   []ID
	slots []uint32 // a place plus one; 0: free. Their number is a power of two
	used  int      // slots that are not free
}

// seed makes the slots of ids unforeseeable: whoever chose ids could otherwise make
// them meet in one.
var seed = maphash.MakeSeed()

// NewIndex makes an index of a list, which must not change as long as it is used.
// Of an id that is in the list several times, the first place counts.
func NewIndex(ids []ID) *Index {
	x := &Index{ids: ids}
	x.fill(len(ids))
	return x
}

// Place returns the place of an id in the list.
func (x *Index) Place(id ID) (place int, ok bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	if at := x.slots[x.slot(id)]; at > 0 {
		return int(at - 1), true
	}
	return 0, false
}

// Add appends an id to the list, unless it is there.
func (x *Index) Add(id ID) {
	if _, there := x.Place(id); there {
		return
	}
	x.ids = append(x.ids, id)
	if 4*(x.used+1) > 3*len(x.slots) {
		x.fill(max(2*len(x.ids), 8))
		return
	}
	x.slots[x.slot(id)] = uint32(len(x.ids))
	x.used++
}

// IDs returns the list. It must not be changed as long as the index is used.
func (x *Index) IDs() []ID { return x.ids }

// Len returns how many different ids there are.
func (x *Index) Len() int { return x.used }

// fill makes slots for so many ids, and gives the list's ids theirs.
func (x *Index) fill(ids int) {
	if ids > math.MaxUint32/2 {
		panic("an index of more than two billion ids") // their list would take 70 GB
	}
	slots := 8
	for 3*slots < 4*(ids+1) {
		slots *= 2
	}
	x.slots, x.used = make([]uint32, slots), 0
	for i, id := range x.ids {
		if s := x.slot(id); x.slots[s] == 0 {
			x.slots[s] = uint32(i + 1)
			x.used++
		}
	}
}

// slot returns the slot that has the id's place, or the free one that it would get.
func (x *Index) slot(id ID) int {
	mask := uint64(len(x.slots) - 1)
	at := maphash.Bytes(seed, id.bytes[:id.size]) & mask
	for x.slots[at] != 0 && x.ids[x.slots[at]-1] != id {
		at = (at + 1) & mask
	}
	return int(at)
}
