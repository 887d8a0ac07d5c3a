package ignore

import (
	"bytes"
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
	path   []byte  // from the root to here, each name with a slash; kept only while a rule needs it, lowered if fold
	placed bool    // some level has a rule that depends on the path
	fold   bool
	digest uint64
	weight int // of all files
}

// A level is one file of a chain, with those of its path rules that may still
// match here or below.
type level struct {
	file  *File
	base  int  // where in path the file's directory ends
	paths bool // file.paths may have something here or below
	globs []glob
}

func (l *level) placed() bool { return l.paths || len(l.globs) > 0 }

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
	l := level{file: f, base: len(c.path), paths: len(f.paths) > 0, globs: f.pathGlobs}
	return &Chain{
		levels: slices.Insert(slices.Clone(c.levels), 0, l),
		path:   c.path,
		placed: c.placed || l.placed(),
		fold:   f.fold,
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
		fold:   c.fold,
		digest: wildmatch.Mix(c.digest, 0, name),
		weight: c.weight,
	}
	sub.path = append(append(append(sub.path, c.path...), name...), '/')
	if c.fold {
		lower(sub.path[len(c.path):])
	}
	for i, l := range c.levels {
		sub.levels[i] = l.enter(sub.path)
		sub.placed = sub.placed || sub.levels[i].placed()
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

// enter drops the rules that can match nothing in path or below it.
func (l level) enter(path []byte) level {
	dir := path[l.base:]
	if l.paths {
		_, l.paths = l.file.dirs[string(dir)]
	}
	matchless := func(g glob) bool { return !g.rule.Reaches(dir) }
	if slices.ContainsFunc(l.globs, matchless) {
		l.globs = slices.DeleteFunc(slices.Clone(l.globs), matchless)
	}
	return l
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
	at := len(c.path)
	if c.fold {
		lower(path[at:])
	}
	for i := range c.levels {
		l := &c.levels[i]
		place := l.match(path[l.base:], path[at:], isDir)
		if place == 0 {
			continue
		}
		if l.file.negated[place-1] {
			return Included
		}
		return Ignored
	}
	return None
}

// match returns the place of the last rule that matches, 0 if none does.
func (l *level) match(path, name []byte, isDir bool) int32 {
	f := l.file
	best := f.names[string(name)].of(isDir)
	if f.suffixes != nil && len(name) > 0 {
		best = lastEnding(f.suffixes[name[len(name)-1]], name, isDir, best)
	}
	best = lastGlob(f.globs, subject{name, name, isDir}, best)
	if l.paths {
		best = max(best, f.paths[string(path)].of(isDir))
	}
	return lastGlob(l.globs, subject{path, name, isDir}, best)
}

// A subject is what a glob is asked about: the name, and the path from the
// directory of the rule's file.
type subject struct {
	path, name []byte
	isDir      bool
}

func (p places) of(isDir bool) int32 {
	if isDir {
		return p.dir
	}
	return p.other
}

func lastEnding(list []ending, name []byte, isDir bool, best int32) int32 {
	for i := range list {
		e := &list[i]
		if e.dir <= best {
			break
		}
		if at := len(name) - len(e.text); at >= 0 && string(name[at:]) == e.text {
			best = max(best, e.of(isDir))
		}
	}
	return best
}

func lastGlob(list []glob, s subject, best int32) int32 {
	for i := range list {
		g := &list[i]
		if g.place <= best {
			break
		}
		if (s.isDir || !g.rule.DirOnly) && g.rule.Match(s.path, s.name) {
			return g.place
		}
	}
	return best
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

func lower(text []byte) {
	if bytes.IndexFunc(text, isUpper) < 0 {
		return
	}
	for i, b := range text {
		if 'A' <= b && b <= 'Z' {
			text[i] = b + 'a' - 'A'
		}
	}
}

func isUpper(r rune) bool { return 'A' <= r && r <= 'Z' }
