package gitindex

import (
	"encoding/binary"
	"math/bits"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// digest mixes 64-bit words by multiplication (the idea of wyhash), an order
// of magnitude faster than a hash that resists forgery. Every string is
// preceded by its length, so equal sequences of words mean equal listings.
func (d *Directory) digest() uint64 {
	var buf [32]byte
	h := mixer(len(d.Entries))
	for i := range d.Entries {
		e := &d.Entries[i]
		h.word(uint64(e.Mode)<<32 | uint64(e.Flags)<<8 | uint64(e.Stage))
		h.text(e.Name)
		h.id(e.ID, &buf)
	}
	h.word(uint64(len(d.Dirs)))
	for _, name := range d.Dirs {
		h.text(name)
	}
	h.id(d.Sparse, &buf)
	return max(uint64(h), 1)
}

type mixer uint64

func (h *mixer) word(w uint64) {
	hi, lo := bits.Mul64(uint64(*h)^0x9e3779b97f4a7c15, w^0xd1b54a32d192ed03)
	*h = mixer(hi ^ lo)
}

func (h *mixer) text(s string) {
	h.word(uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		h.word(word(s, 0))
	}
	var rest uint64
	for i := range len(s) {
		rest |= uint64(s[i]) << (8 * i)
	}
	h.word(rest)
}

// word returns the eight bytes of a string from the i-th on.
func word(s string, i int) uint64 {
	s = s[i : i+8]
	// The compiler makes one load of this.
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (h *mixer) id(id oid.ID, buf *[32]byte) {
	p := id.Append(buf[:0])
	h.word(uint64(len(p)))
	for ; len(p) >= 8; p = p[8:] {
		h.word(binary.LittleEndian.Uint64(p))
	}
	if len(p) > 0 {
		h.word(uint64(binary.LittleEndian.Uint32(p)))
	}
}
