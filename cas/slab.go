package cas

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// slabEntries are in one block of a slab.
const slabEntries = 4096

// A slab is a list of entries that all have the same number of bytes. It has no
// pointers for the collector to follow, and only its last block moves as it grows.
type slab struct {
	width  int
	n      int
	blocks [][]byte
}

func (s *slab) add(entry []byte) {
	if s.n%slabEntries == 0 {
		s.width = len(entry)
		room := slabEntries
		if s.n == 0 {
			room = 16 // most have few
		}
		s.blocks = append(s.blocks, make([]byte, 0, room*s.width))
	}
	last := &s.blocks[len(s.blocks)-1]
	*last = append(*last, entry...)
	s.n++
}

func (s *slab) at(i uint32) []byte {
	at := int(i%slabEntries) * s.width
	return s.blocks[i/slabEntries][at : at+s.width : at+s.width]
}

// sorted returns the places of all entries, in the order of the keys with which
// they begin.
func (s *slab) sorted(keyBytes int) []uint32 {
	out := make([]uint32, s.n)
	for i := range out {
		out[i] = uint32(i)
	}
	slices.SortFunc(out, func(a, b uint32) int {
		p, q := s.at(a)[:keyBytes], s.at(b)[:keyBytes]
		if c := cmp.Compare(binary.BigEndian.Uint64(p), binary.BigEndian.Uint64(q)); c != 0 {
			return c
		}
		return bytes.Compare(p, q)
	})
	return out
}
