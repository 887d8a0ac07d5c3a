package ignore

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// A Verdict is what the rules say about one entry.
type Verdict uint8

// The verdicts. None and Included both mean that the entry is not ignored;
// Included, that a negated pattern ("!keep") said so.
const (
	None Verdict = iota
	Ignored
	Included
)

// A Chain is the rules in force in one directory: those of its own ignore file
// before those of the directories above it, before the outer files. It is
// immutable and safe for concurrent use; chains of subdirectories share what
// they can with it.
type Chain struct {
	levels []level // nearest first
	path   []byte  // from the root to here, each name with a slash; kept only while a rule needs it
	placed bool    // some level has a rule that depends on the path
	digest uint64
	weight int // of all files
}

// A level is one file of a chain.
type level struct {
	file  *File
	base  int  // where in path the file's directory ends
	paths bool // a rule of the file that depends on the path may match here or below
}

// NewChain returns the chain of a root directory, before its own ignore file is
// known. The outer files are in rising precedence (core.excludesFile before
// info/exclude); their patterns are relative to the root. Nil files are left
// out.
func NewChain(outer ...*File) *Chain {
	c := &Chain{}
	for _, f := range outer {
		c = c.With(f)
	}
	return c
}

// HasRoom reports whether the chain with the rules of f would take no more than
// [wildmatch.WeightMax]. Where it has none, the file is to be named, and left out: the
// chain is the same with it.
func (c *Chain) HasRoom(f *File) bool { return f == nil || c.weight+f.weight <= wildmatch.WeightMax }

// With returns the chain with f as the ignore file of this directory. If f is
// nil or has no rules, or the chain no room, that is c itself.
func (c *Chain) With(f *File) *Chain {
	if f == nil || f.empty() || !c.HasRoom(f) {
		return c
	}
	l := level{file: f, base: len(c.path), paths: len(f.names) < len(f.rules)}
	return &Chain{
		levels: slices.Insert(slices.Clone(c.levels), 0, l),
		path:   c.path,
		placed: c.placed || l.paths,
		digest: wildmatch.Mix(c.digest, f.digest, ""),
		weight: c.weight + f.weight,
	}
}

// Enter returns the chain of the subdirectory name, before its own ignore file
// is known. Where no rule in force depends on the path that is c itself.
func (c *Chain) Enter(name string) *Chain {
	if !c.placed {
		return c
	}
	sub := &Chain{
		levels: make([]level, len(c.levels)),
		path:   make([]byte, 0, len(c.path)+len(name)+1),
		digest: wildmatch.Mix(c.digest, 0, name),
		weight: c.weight,
	}
	sub.path = append(append(append(sub.path, c.path...), name...), '/')
	for i, l := range c.levels {
		dir := sub.path[l.base:]
		reaches := func(r wildmatch.Rule) bool { return !r.Basename && r.Reaches(dir) }
		l.paths = l.paths && slices.ContainsFunc(l.file.rules, reaches)
		sub.levels[i], sub.placed = l, sub.placed || l.paths
	}
	if sub.placed {
		return sub
	}
	sub.path = nil
	for i := range sub.levels {
		sub.levels[i].base = 0
	}
	return sub
}

// Digest returns a number that is equal for chains with equal rules at equal
// places, in every process, and that differs for others as far as 64 bits can
// tell. It is 0 for a chain without any rule.
func (c *Chain) Digest() uint64 { return c.digest }

// nameBytesMax is the length of path and name together that Match handles
// without allocating.
const nameBytesMax = 512

// Match says what the rules make of an entry that lies directly in this
// directory. isDir is false for a symbolic link, whatever it points to. The
// last pattern of the nearest file that has one decides, as in git. It does not
// allocate, unless path and name are longer than 512 bytes.
func (c *Chain) Match(name string, isDir bool) Verdict {
	if len(c.levels) == 0 {
		return None
	}
	var space [nameBytesMax]byte
	path := append(append(space[:0], c.path...), name...)
	for i := range c.levels {
		l := &c.levels[i]
		rules := l.file.names
		if l.paths {
			rules = l.file.rules
		}
		for j := range rules {
			r := &rules[j]
			switch {
			case r.DirOnly && !isDir || !r.Match(path[l.base:], path[len(c.path):]):
			case r.Negated:
				return Included
			default:
				return Ignored
			}
		}
	}
	return None
}

// Ignored decides about a whole path with the directories above it: what lies
// in an ignored directory is ignored. c is the chain of the root, before its own
// ignore file; path is relative to the root, with slashes and no empty names.
// own returns the ignore file of a directory ("" is the root), nil if it has
// none; it is not asked about ignored directories.
func (c *Chain) Ignored(path string, isDir bool, own func(dir string) *File) bool {
	for at := 0; ; {
		c = c.With(own(strings.TrimSuffix(path[:at], "/")))
		n := strings.IndexByte(path[at:], '/')
		if n < 0 {
			return c.Match(path[at:], isDir) == Ignored
		}
		name := path[at : at+n]
		if c.Match(name, true) == Ignored {
			return true
		}
		c = c.Enter(name)
		at += n + 1
	}
}
