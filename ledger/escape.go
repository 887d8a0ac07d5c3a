package ledger

import (
	"unicode/utf16"
	"unicode/utf8"
)

// escape consumes one escape sequence of a string and keeps what it stands
// for. The backslash is the next byte.
func (s *scanner) escape(keep int) bool {
	s.pos++
	c := s.at()
	if c == 'u' {
		return s.unicode(keep)
	}
	plain, ok := unescape(c)
	if !ok {
		return s.fail("unknown escape in a string")
	}
	s.pos++
	s.keep([]byte{plain}, keep)
	return true
}

func unescape(c byte) (byte, bool) {
	switch c {
	case '"', '\\', '/':
		return c, true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

// unicode consumes the rest of \uXXXX, its 'u' being the next byte. Two of
// them that make a surrogate pair are one character; half a pair is U+FFFD,
// like everything that is no text.
func (s *scanner) unicode(keep int) bool {
	start := s.offset() - 1
	s.pos++
	r, ok := s.hex4()
	if !ok {
		return s.fail("malformed \\u escape")
	}
	if pair := utf16.DecodeRune(s.half, r); start == s.halfEnd && pair != utf8.RuneError {
		// The first half was kept as U+FFFD, three bytes, unless raw was full.
		if !s.long {
			s.raw = utf8.AppendRune(s.raw[:len(s.raw)-3], pair)
		}
		return true
	}
	if utf16.IsSurrogate(r) {
		s.half, s.halfEnd = r, s.offset()
		r = utf8.RuneError
	}
	s.keep(utf8.AppendRune(nil, r), keep)
	return true
}

func (s *scanner) hex4() (rune, bool) {
	var r rune
	for range 4 {
		c := s.at()
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
		s.pos++
	}
	return r, true
}
