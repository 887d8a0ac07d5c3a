package wildmatch

import (
	"bytes"
	"strings"
)

// A Rule is a pattern as a line of an ignore or attributes file has it: with
// its marks at both ends, and relative to the directory of its file. It is
// immutable and may be shared.
type Rule struct {
	Negated  bool // begins with "!"
	DirOnly  bool // ends with "/": matches directories only
	Basename bool // has no other slash: matches the last component at any depth

	prefix []byte // what must come before the glob, without wildcards
	glob   *Pattern
	depth  int // how many slashes a path that matches has; -1 for any number
}

// ParseRule compiles one pattern. The caller has already removed comments, line
// ends and quoting. It never fails: a malformed pattern matches nothing.
//
// The part before the first wildcard is split off before the rest is compiled,
// and a "**" that begins the rest counts as a whole component even after
// "/foo": git does so, whatever gitignore(5) says.
func ParseRule(line string, c Case) Rule {
	line, negated := strings.CutPrefix(line, "!")
	line, dirOnly := strings.CutSuffix(line, "/")
	r := Rule{Negated: negated, DirOnly: dirOnly, Basename: strings.IndexByte(line, '/') < 0}
	if r.Basename {
		r.glob = Compile(line, c)
		r.depth = -1
		return r
	}
	line = strings.TrimPrefix(line, "/")
	n := strings.IndexAny(line, `*?[\`)
	if n < 0 {
		n = len(line)
	}
	r.glob = Compile(line[n:], c)
	r.prefix = []byte(line[:n])
	for i, b := range r.prefix {
		r.prefix[i] = r.glob.lower(b)
	}
	r.depth = r.glob.slashes()
	if r.depth >= 0 {
		r.depth += bytes.Count(r.prefix, []byte{'/'})
	}
	return r
}

// slashes returns how many slashes the texts have that p matches, -1 if that
// is not one number.
func (p *Pattern) slashes() int {
	n := bytes.Count(p.text, []byte{'/'})
	for _, o := range p.ops {
		switch {
		case o.kind == opDeep || o.kind == opDirs:
			return -1
		case o.kind == opChar && o.char == '/':
			n++
		}
	}
	return n
}

// Match reports whether the rule's pattern matches an entry, given by its path
// relative to the directory of the rule's file, of which name is the last
// component. It looks at neither Negated nor DirOnly, and does not allocate.
func (r *Rule) Match(path, name []byte) bool {
	if r.Basename {
		return r.glob.Match(name)
	}
	n := len(r.prefix)
	if len(path) < n || !r.hasPrefix(path[:n]) {
		return false
	}
	return r.glob.Match(path[n:])
}

func (r *Rule) hasPrefix(text []byte) bool {
	if r.glob.fold {
		return equalFold(r.prefix[:len(text)], text)
	}
	return bytes.Equal(r.prefix[:len(text)], text)
}

// Reaches reports whether the rule may match an entry in dir or below it; dir
// is relative to the directory of the rule's file, and ends with a slash unless
// it is empty. A false answer is certain.
func (r *Rule) Reaches(dir []byte) bool {
	if r.Basename || len(dir) == 0 {
		return true
	}
	if r.depth >= 0 && bytes.Count(dir, []byte{'/'}) > r.depth {
		return false
	}
	return r.hasPrefix(dir[:min(len(dir), len(r.prefix))])
}

// Weight is what the rule takes in memory, roughly.
func (r *Rule) Weight() int {
	const self, step, class = 192, 24, 32
	n := self + len(r.prefix) + len(r.glob.text) + step*len(r.glob.ops)
	for i := range r.glob.ops {
		if r.glob.ops[i].set != nil {
			n += class
		}
	}
	return n
}

// Never reports that the rule matches nothing at all.
func (r *Rule) Never() bool { return r.glob.shape == never }
