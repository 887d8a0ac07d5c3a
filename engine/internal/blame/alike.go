package blame

import "bytes"

var newline = []byte{'\n'}

// alike returns how many bytes two texts have in common at their beginnings, and then
// at their ends, in whole lines. Most versions of a file differ in one place only: to
// compare all of their lines would take most of the time.
func alike(a, b []byte) (above, below int) {
	const block = 4096 // compared at once
	n := min(len(a), len(b))
	for n-above >= block && bytes.Equal(a[above:above+block], b[above:above+block]) {
		above += block
	}
	for above < n && a[above] == b[above] {
		above++
	}
	above = bytes.LastIndexByte(a[:above], '\n') + 1
	n -= above
	endOf := func(text []byte, length int) []byte { return text[len(text)-length:] }
	for n-below >= block && bytes.Equal(endOf(a, below+block)[:block], endOf(b, below+block)[:block]) {
		below += block
	}
	for below < n && a[len(a)-1-below] == b[len(b)-1-below] {
		below++
	}
	if beginsLine(a, len(a)-below) && beginsLine(b, len(b)-below) {
		return above, below
	}
	_, whole, _ := bytes.Cut(endOf(a, below), newline)
	return above, len(whole)
}

func beginsLine(text []byte, at int) bool { return at == 0 || text[at-1] == '\n' }
