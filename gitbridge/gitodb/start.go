package gitodb

import (
	"encoding/binary"
	"math/bits"
)

// The sizes of the code that describes deflate's other codes, and of these.
const (
	codeBitsMax   = 15
	literalsMax   = 288
	distancesMax  = 32
	endOfBlock    = 256
	lengthSymbols = 19
)

// A start inflates the first few bytes of a zlib stream that lies in memory. It
// decodes bit by bit: for that much, making the tables that a fast inflater
// looks codes up in would be nearly all of the work (RFC 1951).
type start struct {
	src  []byte
	bits uint64 // the next ones; those beyond n are of src
	n    uint
	bad  bool

	out  []byte
	have int
}

// inflateStart fills out with the first bytes of a stream and returns how many
// it got: fewer where the stream ends before or is not as it should be.
func inflateStart(src, out []byte) int {
	const deflate, dictionary = 8, 1 << 5
	if len(src) < 2 || src[0]&15 != deflate || (uint(src[0])<<8|uint(src[1]))%31 != 0 || src[1]&dictionary != 0 {
		return 0
	}
	s := start{src: src[2:], out: out}
	for last := false; !last && !s.bad && s.have < len(out); {
		last = s.take(1) == 1
		switch s.take(2) {
		case 0:
			s.stored()
		case 1:
			s.coded(&fixedLiterals, &fixedDistances)
		case 2:
			s.dynamic()
		default:
			s.bad = true
		}
	}
	return s.have
}

// need makes sure that so many bits are there, up to 56; behind the end there
// are none.
func (s *start) need(n uint) bool {
	if s.n >= n {
		return true
	}
	if len(s.src) >= 8 {
		s.bits |= binary.LittleEndian.Uint64(s.src) << s.n
		whole := (63 - s.n) / 8
		s.src, s.n = s.src[whole:], s.n+8*whole
		return true
	}
	for ; s.n <= 56 && len(s.src) > 0; s.n += 8 {
		s.bits |= uint64(s.src[0]) << s.n
		s.src = s.src[1:]
	}
	s.bad = s.bad || s.n < n
	return !s.bad
}

func (s *start) take(n uint) int {
	if s.n < n && !s.need(n) {
		return 0
	}
	v := s.bits & (1<<n - 1)
	s.bits, s.n = s.bits>>n, s.n-n
	return int(v)
}

// stored copies a block that is not compressed.
func (s *start) stored() {
	if rest := s.n % 8; rest > 0 {
		s.take(rest)
	}
	size, check := s.take(16), s.take(16)
	if size != check^0xffff {
		s.bad = true
	}
	for ; size > 0 && !s.bad && s.have < len(s.out); size-- {
		if b := s.take(8); !s.bad {
			s.put(byte(b))
		}
	}
}

func (s *start) put(b byte) {
	s.out[s.have] = b
	s.have++
}

// A code is a canonical Huffman code: how many codes there are of each length,
// and their symbols in order.
type code struct {
	counts  [codeBitsMax + 1]uint16
	symbols [literalsMax]uint16
}

func (c *code) make(lengths []uint8) {
	c.counts = [codeBitsMax + 1]uint16{}
	for _, n := range lengths {
		c.counts[n]++
	}
	c.counts[0] = 0
	var at [codeBitsMax + 2]uint16
	for n := 1; n <= codeBitsMax; n++ {
		at[n+1] = at[n] + c.counts[n]
	}
	for symbol, n := range lengths {
		if n > 0 {
			c.symbols[at[n]] = uint16(symbol)
			at[n]++
		}
	}
}

// symbol decodes one symbol.
func (s *start) symbol(c *code) int {
	s.need(min(codeBitsMax, s.n+uint(8*len(s.src))))
	var value, first, index int
	for n := uint(1); n <= min(codeBitsMax, s.n); n++ {
		value |= int(s.bits >> (n - 1) & 1)
		count, i := int(c.counts[n]), value-first
		if i < 0 { // more codes than there is room for
			break
		}
		if i < count {
			s.bits, s.n = s.bits>>n, s.n-n
			return int(c.symbols[index+i])
		}
		index, first = index+count, (first+count)<<1
		value <<= 1
	}
	s.bad = true
	return 0
}

var fixedLiterals, fixedDistances = fixedCodes()

func fixedCodes() (literals, distances code) {
	var lengths [literalsMax]uint8
	for i := range lengths {
		switch {
		case i < 144, i >= 280:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		default:
			lengths[i] = 7
		}
	}
	literals.make(lengths[:])
	for i := range 30 {
		lengths[i] = 5
	}
	distances.make(lengths[:30])
	return literals, distances
}

// lengthOrder is the order in which the lengths of the first code come.
var lengthOrder = [lengthSymbols]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// shortCodes give for the next bits the symbol in the code of lengths and, above
// it, how many bits that has; 0 where no code begins so.
type shortCodes [1 << lengthBitsMax]uint8

const lengthBitsMax = 7

// newShortCodes makes the table from the lengths of the codes. This one pays: there
// are a hundred symbols and more to look up in it.
func newShortCodes(lengths *[lengthSymbols]uint8) (t shortCodes) {
	value := 0
	for n := 1; n <= lengthBitsMax; n++ {
		for symbol, length := range lengths {
			if int(length) != n || value >= 1<<n {
				continue
			}
			code := int(bits.Reverse16(uint16(value)) >> (16 - n))
			for ; code < len(t); code += 1 << n {
				t[code] = uint8(n<<5 | symbol)
			}
			value++
		}
		value <<= 1
	}
	return t
}

// short decodes a symbol of the code of lengths.
func (s *start) short(t *shortCodes) int {
	s.need(min(lengthBitsMax, s.n+uint(8*len(s.src))))
	v := t[s.bits&(1<<lengthBitsMax-1)]
	n := uint(v >> 5)
	if n == 0 || n > s.n {
		s.bad = true
		return 0
	}
	s.bits, s.n = s.bits>>n, s.n-n
	return int(v & 31)
}

// dynamic reads a block that begins with its codes.
func (s *start) dynamic() {
	literals, distances, n := s.take(5)+257, s.take(5)+1, s.take(4)+4
	var first [lengthSymbols]uint8
	for i := range n {
		first[lengthOrder[i]] = uint8(s.take(3))
	}
	t := newShortCodes(&first)
	var lengths [literalsMax + distancesMax]uint8
	for i := 0; i < literals+distances && !s.bad; {
		symbol, value, repeat := s.short(&t), uint8(0), 1
		switch {
		case symbol < 16:
			value = uint8(symbol)
		case symbol == 16 && i > 0:
			value, repeat = lengths[i-1], 3+s.take(2)
		case symbol == 17:
			repeat = 3 + s.take(3)
		case symbol == 18:
			repeat = 11 + s.take(7)
		default:
			s.bad = true
		}
		for ; repeat > 0 && i < literals+distances; repeat-- {
			lengths[i] = value
			i++
		}
	}
	if s.bad || literals > literalsMax {
		s.bad = true
		return
	}
	var c, d code
	c.make(lengths[:literals])
	d.make(lengths[literals : literals+distances])
	s.coded(&c, &d)
}

// The least lengths and distances of the symbols for repetitions, and how many
// bits are to be added to them.
var (
	repeatBase = [...]uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
	repeatBits = [...]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	backBase   = [...]uint16{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577}
	backBits   = [...]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}
)

// coded inflates a block.
func (s *start) coded(literals, distances *code) {
	for !s.bad && s.have < len(s.out) {
		symbol := s.symbol(literals)
		switch {
		case s.bad || symbol == endOfBlock:
			return
		case symbol < endOfBlock:
			s.put(byte(symbol))
			continue
		}
		symbol -= endOfBlock + 1
		if symbol >= len(repeatBase) {
			s.bad = true
			return
		}
		size := int(repeatBase[symbol]) + s.take(uint(repeatBits[symbol]))
		symbol = s.symbol(distances)
		if s.bad || symbol >= len(backBase) {
			s.bad = true
			return
		}
		back := int(backBase[symbol]) + s.take(uint(backBits[symbol]))
		if s.bad || back > s.have {
			s.bad = true
			return
		}
		for ; size > 0 && s.have < len(s.out); size-- {
			s.put(s.out[s.have-back])
		}
	}
}
