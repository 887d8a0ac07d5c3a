package ledger

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
)

const (
	scanBufferBytes   = 256 << 10
	headerBufferBytes = 4 << 10 // most headers, and what a turn appends
	// nestingMax bounds the memory that brackets can claim, one byte each.
	// JSON.parse has no such bound; no session nests a thousandth as deep.
	nestingMax = 1 << 20
)

// A scanner reads JSON values from lines without holding them: what is not
// asked for is checked against the grammar and forgotten, so a line of any
// length costs one buffer. It accepts what JSON.parse accepts, because an
// entry that Pi cannot read must not count here either.
//
// Every method that consumes reports false once the line is malformed; bad
// then says why, and the caller goes on behind the next newline.
type scanner struct {
	src  io.Reader
	buf  []byte
	pos  int   // next byte in buf
	end  int   // end of what was read into buf
	base int64 // offset in the file of buf[0]
	err  error // what stopped the source; io.EOF at its end

	bad   string // why the line is malformed, "" while it is not
	raw   []byte // the kept beginning of the last string or number, unquoted
	long  bool   // the last string went on behind raw
	stack []byte // closing brackets that are due

	half    rune  // the last \u escape, if it was half of a surrogate pair
	halfEnd int64 // offset behind it
}

func newScanner(src io.Reader, offset int64, bufferBytes int) *scanner {
	return &scanner{src: src, buf: make([]byte, bufferBytes), base: offset}
}

// offset returns the position in the file of the next byte.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) fail(reason string) bool {
	if s.bad == "" {
		s.bad = reason
	}
	return false
}

// fill makes at least one byte available, or reports that there is none.
func (s *scanner) fill() bool {
	for s.pos == s.end {
		if s.err != nil {
			return false
		}
		s.base += int64(s.end)
		s.pos = 0
		s.end, s.err = s.src.Read(s.buf)
	}
	return true
}

// at returns the next byte without consuming it, 0 at the end.
func (s *scanner) at() byte {
	if s.pos == s.end && !s.fill() {
		return 0
	}
	return s.buf[s.pos]
}

// peek is at behind spaces. A newline is no space: it ends the line.
func (s *scanner) peek() byte {
	for {
		c := s.at()
		if c != ' ' && c != '\t' && c != '\r' {
			return c
		}
		s.pos++
	}
}

// finish consumes the rest of the line and reports whether a newline ended it.
func (s *scanner) finish() bool {
	for s.pos < s.end || s.fill() {
		rest := s.buf[s.pos:s.end]
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			s.pos += i + 1
			return true
		}
		s.pos = s.end
	}
	return false
}

// object consumes an object and calls field for each member; field consumes
// the value. The name is valid until field reads on.
func (s *scanner) object(field func(name []byte) bool) bool {
	s.pos++ // the brace, seen by the caller
	if s.peek() == '}' {
		s.pos++
		return true
	}
	for s.key(nameBytesMax) && field(s.raw) {
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return true
		default:
			return s.fail("malformed object")
		}
	}
	return false
}

// array consumes an array and calls item at each element; item consumes it.
func (s *scanner) array(item func() bool) bool {
	s.pos++ // the bracket, seen by the caller
	if s.peek() == ']' {
		s.pos++
		return true
	}
	for item() {
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return true
		default:
			return s.fail("malformed array")
		}
	}
	return false
}

// key consumes a member's name and its colon, and keeps the name in raw.
func (s *scanner) key(keep int) bool {
	if s.peek() != '"' {
		return s.fail("malformed object")
	}
	if !s.str(keep) {
		return false
	}
	if s.peek() != ':' {
		return s.fail("malformed object")
	}
	s.pos++
	return true
}

// skip consumes one value of any kind and depth.
func (s *scanner) skip() bool {
	s.stack = s.stack[:0]
	for s.descend() && s.ascend() {
		if len(s.stack) == 0 {
			return true
		}
	}
	return false
}

// descend consumes opening brackets up to the first value without parts.
func (s *scanner) descend() bool {
	for {
		c := s.peek()
		if c != '{' && c != '[' {
			return s.scalar(0)
		}
		s.pos++
		if len(s.stack) == nestingMax {
			return s.fail("nested too deeply")
		}
		s.stack = append(s.stack, c+2) // in ASCII each closing bracket is two behind its opening one
		if s.peek() == c+2 {
			return true
		}
		if c == '{' && !s.key(0) {
			return false
		}
	}
}

// ascend consumes what follows a value: closing brackets up to a comma, and
// the name behind the comma, or up to the end of the outermost value.
func (s *scanner) ascend() bool {
	for len(s.stack) > 0 {
		closing := s.stack[len(s.stack)-1]
		switch s.peek() {
		case closing:
			s.pos++
			s.stack = s.stack[:len(s.stack)-1]
		case ',':
			s.pos++
			return closing == ']' || s.key(0)
		default:
			return s.fail("malformed value")
		}
	}
	return true
}

// scalar consumes a string, number or literal and keeps its beginning in raw.
func (s *scanner) scalar(keep int) bool {
	switch c := s.peek(); {
	case c == '"':
		return s.str(keep)
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.fail("malformed value")
}

func (s *scanner) literal(word string) bool {
	for i := range len(word) {
		if s.at() != word[i] {
			return s.fail("malformed value")
		}
		s.pos++
	}
	return true
}

// number consumes a number and keeps its beginning in raw.
func (s *scanner) number() bool {
	s.raw, s.long = s.raw[:0], false
	s.accept('-')
	if !s.accept('0') && !s.digits() {
		return s.fail("malformed number")
	}
	if s.accept('.') && !s.digits() {
		return s.fail("malformed number")
	}
	if s.accept('e') || s.accept('E') {
		if !s.accept('+') {
			s.accept('-')
		}
		if !s.digits() {
			return s.fail("malformed number")
		}
	}
	return true
}

func (s *scanner) accept(c byte) bool {
	if s.at() != c {
		return false
	}
	s.keep(s.buf[s.pos:s.pos+1], nameBytesMax)
	s.pos++
	return true
}

func (s *scanner) digits() bool {
	n := 0
	for c := s.at(); '0' <= c && c <= '9'; c = s.at() {
		s.keep(s.buf[s.pos:s.pos+1], nameBytesMax)
		s.pos++
		n++
	}
	return n > 0
}

// str consumes a string and keeps about its first keep bytes, unquoted, in
// raw; long says that there were more.
func (s *scanner) str(keep int) bool {
	s.raw, s.long = s.raw[:0], false
	s.pos++ // the quote, seen by the caller
	for s.pos < s.end || s.fill() {
		n := plain(s.buf[s.pos:s.end])
		s.keep(s.buf[s.pos:s.pos+n], keep)
		s.pos += n
		if s.pos == s.end {
			continue
		}
		switch c := s.buf[s.pos]; {
		case c == '"':
			s.pos++
			return true
		case c != '\\':
			return s.fail("control character in a string")
		case !s.escape(keep):
			return false
		}
	}
	return s.fail("string without an end")
}

func (s *scanner) keep(p []byte, max int) {
	if room := max - len(s.raw); len(p) > room {
		s.long = true
		if room <= 0 {
			return
		}
		p = p[:room]
	}
	s.raw = append(s.raw, p...)
}

// plain returns the length of the prefix of p that needs no look inside a
// string: no quote, no backslash, no control character. Eight bytes at a time:
// in each expression the lowest high bit set marks the first byte sought.
func plain(p []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(p)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(p[n:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		hit := (x - ones*0x20) & ^x
		hit |= (quote - ones) & ^quote
		hit |= (slash - ones) & ^slash
		if hit &= highs; hit != 0 {
			return n + bits.TrailingZeros64(hit)/8
		}
	}
	for ; n < len(p); n++ {
		if c := p[n]; c < 0x20 || c == '"' || c == '\\' {
			return n
		}
	}
	return n
}
