package blame

import "bytes"

// whole returns the pieces of a text as one.
func whole(pieces [][]byte) []byte {
	if len(pieces) == 1 {
		return pieces[0]
	}
	return bytes.Join(pieces, nil)
}

func length(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// fresh returns how many bytes a version does not share with another one.
func (v *Version) fresh(other *Version) int {
	above, below := shared(v.Text, other.Text)
	return length(v.Text[above : len(v.Text)-below])
}

// shared returns how many pieces two texts share at their beginnings, and then at
// their ends. It compares no bytes.
func shared(a, b [][]byte) (above, below int) {
	n := min(len(a), len(b))
	for above < n && same(a[above], b[above]) {
		above++
	}
	for above+below < n && same(a[len(a)-1-below], b[len(b)-1-below]) {
		below++
	}
	return above, below
}

// same reports whether two pieces are the same slice.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// ends returns how many lines end in each piece of a version. It takes the numbers of
// the pieces that a version shares with another one from that.
func (v *Version) ends(other *Version) []int {
	if v.lines != nil {
		return v.lines
	}
	v.lines = make([]int, len(v.Text))
	above, below := 0, 0
	if other != nil && other.lines != nil {
		above, below = shared(v.Text, other.Text)
		copy(v.lines, other.lines[:above])
		copy(v.lines[len(v.lines)-below:], other.lines[len(other.lines)-below:])
	}
	for i := above; i < len(v.lines)-below; i++ {
		v.lines[i] = bytes.Count(v.Text[i], newline)
	}
	return v.lines
}

// between returns what two versions have between the pieces that they share, in whole
// lines, and the number of the first of these lines, from 0 on. Most versions differ
// in a piece or two.
func between(a, b *Version) (old, new []byte, first int) {
	above, below := shared(a.Text, b.Text)
	for _, n := range b.ends(a)[:above] {
		first += n
	}
	head := lastLine(a.Text[:above])
	tail := firstEnd(a.Text[len(a.Text)-below:])
	join := func(text [][]byte) []byte {
		parts := append(append(head[:len(head):len(head)], text[above:len(text)-below]...), tail...)
		return whole(parts)
	}
	return join(a.Text), join(b.Text), first
}

// lastLine returns the bytes behind the last end of a line.
func lastLine(pieces [][]byte) [][]byte {
	at := len(pieces)
	for at > 0 {
		at--
		if end := bytes.LastIndexByte(pieces[at], '\n'); end >= 0 {
			return append([][]byte{pieces[at][end+1:]}, pieces[at+1:]...)
		}
	}
	return pieces
}

// firstEnd returns the bytes up to the first end of a line, with it.
func firstEnd(pieces [][]byte) [][]byte {
	for i, p := range pieces {
		if end := bytes.IndexByte(p, '\n'); end >= 0 {
			return append(pieces[:i:i], p[:end+1])
		}
	}
	return pieces
}

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
