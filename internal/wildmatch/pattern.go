// Package wildmatch compiles the patterns of git's ignore and attributes files
// and matches names and paths against them.
//
// It promises git's own answers, byte for byte, including for malformed
// patterns (which match nothing), and time bounded by a small polynomial in the
// length of the text, whatever the pattern. The rules are those of gitignore(5);
// where that page is silent, git itself is the judge (the tests ask it).
//
// The package knows nothing of files, directories or precedence.
package wildmatch

import "bytes"

// Case says whether letters that differ only in case are the same letter.
type Case uint8

// The two ways to compare letters. Only ASCII letters are ever folded, as in
// git (core.ignoreCase).
const (
	Exact Case = iota
	Fold
)

// A Pattern is one compiled glob over slash-separated text, in which "*", "?"
// and classes never match a slash, and "**" as a whole component matches any
// number of components. It is immutable and may be shared. The zero Pattern
// matches the empty text only.
type Pattern struct {
	ops   []op // of the general shape
	shape shape
	text  []byte // of the literal, suffix and prefix shapes
	fold  bool
}

// A shape names a pattern for which a comparison does instead of the matcher.
type shape uint8

const (
	general shape = iota
	literal       // no wildcard at all
	suffix        // one "*", then a literal without a slash
	prefix        // a literal, then one "*"
	never         // malformed
)

type op struct {
	kind opKind
	char byte
	set  *set
}

type opKind uint8

const (
	opChar opKind = iota
	opOne         // "?"
	opSet         // "[...]"
	opStar        // "*"
	opDeep        // "**" at the end or before "\/"
	opDirs        // "**/"
)

// textBytesMax is more than any path has.
const textBytesMax = 1 << 20

// Compile compiles a glob. It never fails: a malformed glob (an open class, an
// unknown class name, a backslash at the end) matches nothing, as in git. Nor does
// one that takes more bytes of a text than any path has: compiled it would take
// many times what it takes itself.
func Compile(glob string, c Case) *Pattern {
	p := &Pattern{fold: c == Fold}
	least := 0 // bytes that a text must have
	for i := 0; i < len(glob); {
		n := p.compileOne(glob, i)
		if n == 0 {
			return &Pattern{shape: never}
		}
		if kind := p.ops[len(p.ops)-1].kind; kind < opStar {
			least++
		}
		if least > textBytesMax {
			return &Pattern{shape: never}
		}
		i += n
	}
	p.classify()
	return p
}

// compileOne appends the operation at glob[i:] and returns its length, or 0 if
// it is malformed.
func (p *Pattern) compileOne(glob string, i int) int {
	switch glob[i] {
	case '*':
		return p.compileStars(glob, i)
	case '?':
		p.ops = append(p.ops, op{kind: opOne})
	case '[':
		s, n := parseSet(glob[i:], p.fold)
		p.ops = append(p.ops, op{kind: opSet, set: s})
		return n
	case '\\':
		// git folds the text and the bare letters of a pattern, but not an
		// escaped letter: "\A" matches nothing under core.ignoreCase.
		if i+1 == len(glob) || p.fold && isUpper(glob[i+1]) {
			return 0
		}
		p.ops = append(p.ops, op{kind: opChar, char: glob[i+1]})
		return 2
	default:
		p.ops = append(p.ops, op{kind: opChar, char: p.lower(glob[i])})
	}
	return 1
}

// compileStars appends what a run of stars means: two or more that fill a whole
// component cross slashes; all others are one "*".
func (p *Pattern) compileStars(glob string, i int) int {
	end := i
	for end < len(glob) && glob[end] == '*' {
		end++
	}
	rest := glob[end:]
	switch whole := end-i > 1 && (i == 0 || glob[i-1] == '/'); {
	case whole && len(rest) > 0 && rest[0] == '/':
		if last := len(p.ops) - 1; last < 0 || p.ops[last].kind != opDirs { // two of them are as one
			p.ops = append(p.ops, op{kind: opDirs})
		}
		end++
	case whole && (rest == "" || len(rest) > 1 && rest[:2] == `\/`):
		p.ops = append(p.ops, op{kind: opDeep})
	default:
		p.ops = append(p.ops, op{kind: opStar})
	}
	return end - i
}

func (p *Pattern) classify() {
	stars, last := 0, len(p.ops)-1
	for i, o := range p.ops {
		switch {
		case o.kind == opChar:
			p.text = append(p.text, o.char)
		case o.kind == opStar && (i == 0 || i == last):
			stars++
		default:
			p.text = nil
			return
		}
	}
	switch {
	case stars == 0:
		p.shape = literal
	case stars == 1 && p.ops[0].kind == opStar && bytes.IndexByte(p.text, '/') < 0:
		p.shape = suffix
	case stars == 1 && p.ops[last].kind == opStar:
		p.shape = prefix
	default:
		p.text = nil
		return
	}
	p.ops = nil
}

// Match reports whether the pattern matches the whole of text. It does not
// allocate and does not keep text.
func (p *Pattern) Match(text []byte) bool {
	n := len(p.text)
	switch p.shape {
	case never:
		return false
	case literal:
		return len(text) == n && p.equal(text)
	case suffix:
		at := len(text) - n
		return at >= 0 && p.equal(text[at:]) && bytes.IndexByte(text[:at], '/') < 0
	case prefix:
		return len(text) >= n && p.equal(text[:n]) && bytes.IndexByte(text[n:], '/') < 0
	}
	return p.run(text)
}

func (p *Pattern) equal(text []byte) bool {
	if p.fold {
		return equalFold(p.text, text)
	}
	return bytes.Equal(p.text, text)
}

// run matches with two places to come back to: the last "*", which may take
// one more byte up to the next slash, and the last "**". Earlier ones need no
// second try. What follows a "*" up to the next wildcard of its kind is found
// at its leftmost place, and a slash in the pattern can only be the end of the
// component that the "*" is in.
func (p *Pattern) run(text []byte) bool {
	i, j := 0, 0
	star, starAt := -1, 0
	deep, deepAt := -1, 0
	for {
		switch p.step(i, text[j:]) {
		case stepMatched:
			return true
		case stepByte:
			if text[j] == '/' {
				star = -1
			}
			i, j = i+1, j+1
			continue
		case stepStar:
			star, starAt, i = i, j, i+1
			continue
		case stepDeep:
			deep, deepAt, star, i = i, j, -1, i+1
			continue
		}
		if star >= 0 && starAt < len(text) && text[starAt] != '/' {
			starAt++
			i, j = star+1, starAt
			continue
		}
		star = -1
		if deep < 0 {
			return false
		}
		n := p.ops[deep].advance(text[deepAt:])
		if n == 0 {
			return false
		}
		deepAt += n
		i, j = deep+1, deepAt
	}
}

type step uint8

const (
	stepFailed step = iota
	stepMatched
	stepByte
	stepStar
	stepDeep
)

// step says what operation i does at the head of rest.
func (p *Pattern) step(i int, rest []byte) step {
	if i == len(p.ops) {
		if len(rest) == 0 {
			return stepMatched
		}
		return stepFailed
	}
	switch o := &p.ops[i]; o.kind {
	case opStar:
		return stepStar
	case opDeep:
		if i+1 == len(p.ops) {
			return stepMatched
		}
		return stepDeep
	case opDirs:
		return stepDeep
	default:
		if len(rest) > 0 && o.matches(rest[0], p.fold) {
			return stepByte
		}
		return stepFailed
	}
}

func (o *op) matches(c byte, fold bool) bool {
	switch o.kind {
	case opOne:
		return c != '/'
	case opSet:
		return o.set.has(c)
	}
	if fold && isUpper(c) {
		c += 'a' - 'A'
	}
	return c == o.char
}

// advance returns how many bytes more a "**" takes on its next try, 0 if there
// is no other try.
func (o *op) advance(rest []byte) int {
	if o.kind == opDirs {
		return bytes.IndexByte(rest, '/') + 1
	}
	return min(len(rest), 1)
}

func (p *Pattern) lower(c byte) byte {
	if p.fold && isUpper(c) {
		c += 'a' - 'A'
	}
	return c
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// equalFold compares text with lower, which has no upper-case letter.
func equalFold(lower, text []byte) bool {
	for i, c := range text {
		if isUpper(c) {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
