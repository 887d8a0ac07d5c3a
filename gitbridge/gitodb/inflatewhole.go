package gitodb

import (
	"encoding/binary"
	"fmt"
	"hash/adler32"
)

// A wholeInflater inflates what is in memory into memory (RFC 1950, RFC 1951). It takes half of the time of the streaming
// [inflater], which passes every byte through a window and a buffer. Of what is read from packs that is most of the work.
type wholeInflater struct {
	lit   [1<<litBits + 512]symbol  // the most is 2342 (zlib's examples/enough.c, for 288 symbols)
	dist  [1<<distBits + 256]symbol // 402, for 32
	lens  [288 + 32]uint8
	known bool // the tables are those of a block that brings none

	in   []byte
	at   int    // what is behind it is not in hold
	hold uint64 // the next bits, the first one lowest
	n    uint   // how many of them count
}

// inflate fills dst with what a zlib stream has, of which in has at least all bytes. Its checksum is compared too, though
// who asks compares the object with its id: where it is wrong, git cannot read the object. The error is ErrCorrupt.
func (z *wholeInflater) inflate(dst, in []byte) error {
	if len(in) < 2 || in[0]&15 != 8 || in[0]>>4 > 7 || in[1]&0x20 != 0 || binary.BigEndian.Uint16(in)%31 != 0 {
		return fmt.Errorf("%w: not a zlib stream", ErrCorrupt)
	}
	z.in, z.at, z.hold, z.n = in, 2, 0, 0
	defer func() { z.in = nil }()
	done := 0
	for last, ok := false, false; !last; {
		z.refill()
		last = z.take(1) == 1
		switch z.take(2) {
		case 0:
			done, ok = z.stored(dst, done)
		case 1:
			z.fixed()
			done, ok = z.block(dst, done)
		case 2:
			if ok = z.dynamic(); ok {
				done, ok = z.block(dst, done)
			}
		default:
			ok = false
		}
		if !ok || z.read() > len(in) {
			return fmt.Errorf("%w: cannot be inflated", ErrCorrupt)
		}
	}
	sum := in[min(z.read(), len(in)):]
	if done < len(dst) || len(sum) < adler32.Size {
		return fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	if binary.BigEndian.Uint32(sum) != adler32.Checksum(dst) {
		return fmt.Errorf("%w: its checksum is another", ErrCorrupt)
	}
	return nil
}

// read is how many bytes were read, of the last one perhaps only a part.
func (z *wholeInflater) read() int { return z.at - int(z.n>>3) }

func (z *wholeInflater) refill() { z.at, z.hold, z.n = refill(z.in, z.at, z.hold, z.n) }

// refill makes hold at least 56 bits. Behind the end of in it finds zeros.
func refill(in []byte, at int, hold uint64, n uint) (int, uint64, uint) {
	if at+8 > len(in) {
		return refillLast(in, at, hold, n)
	}
	return at + int((63-n)>>3), hold | binary.LittleEndian.Uint64(in[at:])<<(n&63), n | 56
}

func refillLast(in []byte, at int, hold uint64, n uint) (int, uint64, uint) {
	for ; n < 56; n += 8 {
		if at < len(in) {
			hold |= uint64(in[at]) << (n & 63)
		}
		at++
	}
	return at, hold, n
}

func (z *wholeInflater) take(n uint) (v uint) {
	v = uint(z.hold & (1<<n - 1))
	z.hold >>= n
	z.n -= n
	return v
}

// stored copies a block that is not compressed.
func (z *wholeInflater) stored(dst []byte, done int) (int, bool) {
	at := z.read()
	z.hold, z.n = 0, 0
	if at+4 > len(z.in) {
		return done, false
	}
	size := int(binary.LittleEndian.Uint16(z.in[at:]))
	check := binary.LittleEndian.Uint16(z.in[at+2:])
	at += 4
	if check != ^uint16(size) || size > len(z.in)-at || size > len(dst)-done {
		return done, false
	}
	z.at = at + size
	return done + copy(dst[done:], z.in[at:z.at]), true
}

// fixed makes the tables of a block that brings none, of which a stream may have one for each ten of its bits.
func (z *wholeInflater) fixed() {
	if z.known {
		return
	}
	z.known = true
	lens := z.lens[:288]
	for i := range lens {
		switch {
		case i >= 144 && i < 256:
			lens[i] = 9
		case i >= 256 && i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	build(z.lit[:], lens, litSymbols[:], litBits)
	for i := range lens[:32] {
		lens[i] = 5
	}
	build(z.dist[:], lens[:32], distSymbols[:], distBits)
}

// dynamic reads the tables of a block.
func (z *wholeInflater) dynamic() bool {
	z.known = false
	lits, dists, order := int(z.take(5))+257, int(z.take(5))+1, lenOrder[:z.take(4)+4]
	if lits > 286 || dists > 30 {
		return false
	}
	lens := z.lens[:len(lenOrder)]
	clear(lens)
	for _, i := range order {
		z.refill()
		lens[i] = uint8(z.take(3))
	}
	if !build(z.lit[:], lens, litSymbols[:len(lens)], lenBits) || !z.lengths(z.lens[:lits+dists]) {
		return false
	}
	lens = z.lens[:lits+dists]
	return lens[256] > 0 && build(z.lit[:], lens[:lits], litSymbols[:], litBits) && build(z.dist[:], lens[lits:], distSymbols[:], distBits)
}

// lengths reads how long the codes of a block are, by the code that is in the table of literals.
func (z *wholeInflater) lengths(lens []uint8) bool {
	for i := 0; i < len(lens); {
		z.refill()
		s := z.lit[z.hold&(1<<lenBits-1)]
		z.take(uint(s & 15))
		if s&kinds != literal {
			return false
		}
		value, times := uint8(s>>16), 1
		switch value {
		case 16:
			if i == 0 {
				return false
			}
			value, times = lens[i-1], 3+int(z.take(2))
		case 17:
			value, times = 0, 3+int(z.take(3))
		case 18:
			value, times = 0, 11+int(z.take(7))
		}
		if times > len(lens)-i {
			return false
		}
		for ; times > 0; times-- {
			lens[i] = value
			i++
		}
	}
	return true
}

// block inflates a block by the tables.
func (z *wholeInflater) block(dst []byte, done int) (int, bool) {
	in, at, hold, n := z.in, z.at, z.hold, z.n
	lit, dist := &z.lit, &z.dist
	for {
		if n < pairBits {
			at, hold, n = refill(in, at, hold, n)
		}
		s := lit[hold&(1<<litBits-1)]
		if s&kinds == literal && done < len(dst) { // the next one is mostly a byte too
			hold >>= s & 15
			n -= uint(s & 15)
			dst[done] = byte(s >> 16)
			done++
			s = lit[hold&(1<<litBits-1)]
			if s&kinds != literal && n < pairBits {
				at, hold, n = refill(in, at, hold, n)
			}
		}
		if s&kinds == link {
			hold >>= litBits
			n -= litBits
			s = lit[uint64(s>>16)+hold&(1<<(s>>4&15)-1)]
		}
		hold >>= s & 15
		n -= uint(s & 15)
		if s&kinds == literal {
			if done >= len(dst) {
				return done, false
			}
			dst[done] = byte(s >> 16)
			done++
			continue
		}
		if s&kinds != span {
			z.at, z.hold, z.n = at, hold, n
			return done, s&^15 == endOfBlock
		}
		more := s >> 4 & 15
		length := int(s>>16) + int(hold&(1<<more-1))
		hold >>= more
		n -= uint(more)
		s = dist[hold&(1<<distBits-1)]
		if s&kinds == link {
			hold >>= distBits
			n -= distBits
			s = dist[uint64(s>>16)+hold&(1<<(s>>4&15)-1)]
		}
		hold >>= s & 15
		more = s >> 4 & 15
		back := int(s>>16) + int(hold&(1<<more-1))
		hold >>= more
		n -= uint(s&15 + more)
		if s&kinds != span || back > done || length > len(dst)-done {
			return done, false
		}
		repeat(dst[done-back:], back, length)
		done += length
	}
}

// repeat copies the first bytes of p to what lies back bytes behind them, one after the other: they may be what was copied.
func repeat(p []byte, back, length int) {
	if back >= 8 && back+length+8 <= len(p) {
		for i := 0; i < length; i += 8 { // up to seven bytes more, which are written again
			binary.LittleEndian.PutUint64(p[back+i:], binary.LittleEndian.Uint64(p[i:]))
		}
		return
	}
	for i := range length {
		p[back+i] = p[i]
	}
}
