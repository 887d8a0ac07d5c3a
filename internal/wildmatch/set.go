package wildmatch

import "strings"

// A set is the bytes that a class "[...]" matches. A slash is never in it.
type set [4]uint64

func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }
func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }

// parseSet parses the class at the start of glob and returns it with its
// length, or 0 if it is malformed.
//
// With fold the text's letters are lowered before they are compared, while the
// class stays as it is written, so that a lone upper-case letter in a class
// matches nothing; a range is tried in both cases. That is git's way.
func parseSet(glob string, fold bool) (*set, int) {
	in := setParser{glob: glob, fold: fold, at: 1}
	negated := in.at < len(glob) && (glob[in.at] == '!' || glob[in.at] == '^')
	if negated {
		in.at++
	}
	for first := true; ; first = false {
		if in.at >= len(glob) {
			return nil, 0
		}
		if glob[in.at] == ']' && !first {
			break
		}
		if !in.member() {
			return nil, 0
		}
	}
	out := &set{}
	for c := 255; c >= 0; c-- {
		b := byte(c)
		if b != '/' && in.set.has(in.folded(b)) != negated {
			out.add(b)
		}
	}
	return out, in.at + 1
}

type setParser struct {
	glob string
	fold bool
	at   int
	prev byte // the character that a "-" would begin a range from; 0 for none
	set  set  // over folded characters
}

// member parses one member and reports whether it is well formed.
func (in *setParser) member() bool {
	c := in.glob[in.at]
	rest := in.glob[in.at+1:]
	switch {
	case c == '-' && in.prev != 0 && rest != "" && rest[0] != ']':
		in.at++
		return in.upTo()
	case c == '[' && rest != "" && rest[0] == ':':
		return in.named(rest[1:])
	case c == '\\':
		if rest == "" {
			return false
		}
		in.at++
		c = rest[0]
	}
	in.set.add(c)
	in.prev = c
	in.at++
	return true
}

// upTo parses the end of a range.
func (in *setParser) upTo() bool {
	if in.glob[in.at] == '\\' {
		in.at++
		if in.at == len(in.glob) {
			return false
		}
	}
	low, high := in.prev, in.glob[in.at]
	in.addIf(func(c byte) bool {
		return low <= c && c <= high || in.fold && isLower(c) && low <= c-('a'-'A') && c-('a'-'A') <= high
	})
	in.prev = 0
	in.at++
	return true
}

// named parses a class name; rest follows its "[:". Without ":]" before the
// next "]" the bracket is an ordinary member.
func (in *setParser) named(rest string) bool {
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return false
	}
	if end == 0 || rest[end-1] != ':' {
		in.set.add('[')
		in.prev = '['
		in.at++
		return true
	}
	is := namedSets[rest[:end-1]]
	if is == nil {
		return false
	}
	in.addIf(func(c byte) bool {
		return is(c) || in.fold && isLower(c) && is(c-('a'-'A'))
	})
	in.prev = 0
	in.at += len("[:") + end + 1
	return true
}

func (in *setParser) addIf(is func(byte) bool) {
	for c := 255; c >= 0; c-- {
		if is(byte(c)) {
			in.set.add(byte(c))
		}
	}
}

func (in *setParser) folded(c byte) byte {
	if in.fold && isUpper(c) {
		c += 'a' - 'A'
	}
	return c
}

// namedSets are the POSIX class names over ASCII. "space" is without vertical
// tab and form feed, as git has it.
var namedSets = map[string]func(byte) bool{
	"alnum":  func(c byte) bool { return isUpper(c) || isLower(c) || isDigit(c) },
	"alpha":  func(c byte) bool { return isUpper(c) || isLower(c) },
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  isLower,
	"print":  func(c byte) bool { return c == ' ' || isGraph(c) },
	"punct":  func(c byte) bool { return isGraph(c) && !isUpper(c) && !isLower(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' },
	"upper":  isUpper,
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' },
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isGraph(c byte) bool { return ' ' < c && c < 0x7f }
