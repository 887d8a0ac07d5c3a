package gitodb

import "math/bits"

const (
	codeMost = 15 // bits of a code
	litBits  = 11 // that are looked up at once
	distBits = 8
	lenBits  = 7

	// pairBits is the most that a length, its distance and what follows both have.
	pairBits = 2*codeMost + 5 + 13
)

// A symbol says what a code means: in bits 0 to 3 how long the code is, in 4 to 7 how many bits follow that are added
// to the value, then its kind, and from bit 16 on the value.
type symbol uint32

const (
	literal symbol = iota << 8 // a byte; of the code of lengths, a length or a repetition
	span                       // a length or a distance
	link                       // a table at that index has the rest of the code, of as many bits as would follow
	special                    // the end of a block, or nothing that may be
	kinds   = special

	endOfBlock = special | 1<<16
)

var (
	litSymbols  = literals()
	distSymbols = distances()
	lenOrder    = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
)

// literals are the symbols of bytes and lengths. The first nineteen are also those of the code of lengths.
func literals() (all [288]symbol) {
	for i := range 256 {
		all[i] = literal | symbol(i)<<16
	}
	all[256] = endOfBlock
	spans(all[257:285], 3, 4)
	all[285] = span | 258<<16
	all[286], all[287] = special, special
	return all
}

func distances() (all [32]symbol) {
	spans(all[:30], 1, 2)
	all[30], all[31] = special, special
	return all
}

// spans numbers lengths or distances from first on. After the first two groups each of a group stands for twice as many.
func spans(to []symbol, first symbol, group int) {
	extra := symbol(0)
	for i := range to {
		if i >= 2*group && i%group == 0 {
			extra++
		}
		to[i] = span | first<<16 | extra<<4
		first += 1 << extra
	}
}

// build makes the table of a code from how long the codes of its symbols are; 0: it has none. It is looked up by so many
// bits. Not ok: no code is like that. One symbol, and none, are an incomplete code that may be.
func build(table []symbol, lens []uint8, symbols []symbol, lookup uint) (ok bool) {
	var count, next [codeMost + 1]int
	for _, l := range lens {
		count[l]++
	}
	used := len(lens) - count[0]
	left, place := 1, 0
	for l := 1; l <= codeMost; l++ {
		next[l] = place
		place += count[l]
		if left = left<<1 - count[l]; left < 0 {
			return false
		}
	}
	if left > 0 && (used > 1 || used != count[1]) {
		return false
	}
	if left > 0 {
		for i := range table[:1<<lookup] {
			table[i] = special | 1
		}
	}
	var sorted [288]uint16
	for i, l := range lens {
		if l > 0 {
			sorted[next[l]] = uint16(i)
			next[l]++
		}
	}
	return fill(table, sorted[:used], &count, symbols, lookup)
}

// fill enters the codes of the symbols, which are sorted by their length, of which there are so many each.
func fill(table []symbol, sorted []uint16, count *[codeMost + 1]int, symbols []symbol, lookup uint) bool {
	size := uint32(1) << lookup
	room, code, l := size, uint32(0), uint(1)
	below, begins, prefix := uint(0), uint32(0), size // of the table of longer codes that is being filled
	for _, at := range sorted {
		for ; count[l] == 0; l++ {
			code <<= 1
		}
		s, first := symbols[at], bits.Reverse32(code)>>(32-l)
		if l <= lookup {
			for i := first; i < size; i += 1 << l {
				table[i] = s | symbol(l)
			}
		} else {
			if first&(size-1) != prefix {
				prefix, begins = first&(size-1), room
				below = l - lookup
				for left := 1<<below - count[l]; left > 0 && below+lookup < codeMost; {
					below++
					left = left<<1 - count[below+lookup]
				}
				if room += 1 << below; int(room) > len(table) {
					return false
				}
				table[prefix] = link | symbol(begins)<<16 | symbol(below)<<4 | symbol(lookup)
			}
			for i := first >> lookup; i < 1<<below; i += 1 << (l - lookup) {
				table[begins+i] = s | symbol(l-lookup)
			}
		}
		count[l]--
		code++
	}
	return true
}
