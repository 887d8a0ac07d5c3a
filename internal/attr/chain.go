package attr

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// Attrs are the attributes of one file that decide about its conversion.
type Attrs struct {
	Text     Value
	CRLF     Value // the old spelling of Text
	EOL      Value
	Ident    Value
	Filter   Value
	Encoding Value // working-tree-encoding
}

// The numbers of the conversion attributes.
const (
	numText = iota
	numCRLF
	numEOL
	numIdent
	numFilter
	numEncoding
	numsOfAll

	numOther = -1 // of what is no conversion attribute
)

var conversionNames = map[string]int{
	"text": numText, "crlf": numCRLF, "eol": numEOL, "ident": numIdent, "filter": numFilter, "working-tree-encoding": numEncoding,
}

// A Chain is the attribute rules in force in one directory. It is immutable and
// safe for concurrent use; chains of subdirectories share what they can with it.
type Chain struct {
	levels   []level // highest precedence first
	own      int     // where in levels the next file of a directory goes: 1 if there is an info file
	macros   map[string][]setting
	path     []byte // from the root to here, each name with a slash; kept only while a rule needs it
	placed   bool   // some rule depends on the path
	converts bool
	digest   uint64
	weight   int // of all files
}

// A level is one file of a chain, with those of its rules that matter: they
// name a conversion attribute or a macro, and may still match here or below.
type level struct {
	file  *File
	base  int // where in path the file's directory ends
	rules []*rule
}

// builtin is git's only built-in rule.
var builtin = Parse([]byte("[attr]binary -diff -merge -text\n"), &Options{Macros: true})

// NewChain returns the chain of a root directory, before its own attributes
// file is known. The file info (nil if there is none) has the highest
// precedence of all; the outer ones (system, then the user's) have the lowest,
// in rising order. Their patterns are relative to the root.
func NewChain(info *File, outer ...*File) *Chain {
	c := &Chain{}
	for _, f := range outer {
		if f != nil && !f.empty() {
			c.levels = slices.Insert(c.levels, 0, level{file: f})
		}
	}
	c.levels = append(c.levels, level{file: builtin})
	if info != nil && !info.empty() {
		c.levels = slices.Insert(c.levels, 0, level{file: info})
		c.own = 1
	}
	for i, l := range c.levels {
		c.weight += l.file.weight
		if l.file != builtin {
			c.digest = wildmatch.Mix(c.digest, l.file.digest, "")
		}
		if i == 0 && c.own == 1 {
			c.digest = wildmatch.Mix(c.digest, 0, "info")
		}
	}
	c.define()
	return c
}

// HasRoom reports whether the chain with the rules of f would take no more than
// [wildmatch.WeightMax]. Where it has none, the file is to be named, and left out: the
// chain is the same with it.
func (c *Chain) HasRoom(f *File) bool { return f == nil || c.weight+f.weight <= wildmatch.WeightMax }

// With returns the chain with f as the attributes file of this directory. If f
// is nil or has no rules, or the chain no room, that is c itself. Below the root f must have been
// parsed without Macros.
func (c *Chain) With(f *File) *Chain {
	if f == nil || f.empty() || !c.HasRoom(f) {
		return c
	}
	sub := *c
	sub.levels = slices.Insert(slices.Clone(c.levels), c.own, level{file: f, base: len(c.path)})
	sub.digest = wildmatch.Mix(c.digest, f.digest, "")
	sub.weight += f.weight
	if len(f.macros) > 0 {
		sub.define()
	} else {
		sub.levels[c.own].rules = sub.mattering(f)
		sub.settle()
	}
	return &sub
}

// Enter returns the chain of the subdirectory name, before its own attributes
// file is known. Where no rule in force depends on the path that is c itself.
func (c *Chain) Enter(name string) *Chain {
	if !c.placed {
		return c
	}
	sub := *c
	sub.path = make([]byte, 0, len(c.path)+len(name)+1)
	sub.path = append(append(append(sub.path, c.path...), name...), '/')
	sub.levels = slices.Clone(c.levels)
	sub.digest = wildmatch.Mix(c.digest, 0, name)
	for i := range sub.levels {
		l := &sub.levels[i]
		dir := sub.path[l.base:]
		matchless := func(r *rule) bool { return !r.pattern.Reaches(dir) }
		if slices.ContainsFunc(l.rules, matchless) {
			l.rules = slices.DeleteFunc(slices.Clone(l.rules), matchless)
		}
	}
	sub.settle()
	if !sub.placed {
		sub.path = nil
		for i := range sub.levels {
			sub.levels[i].base = 0
		}
	}
	return &sub
}

// define collects the macros of all levels, the highest first, and the rules that
// matter with them.
func (c *Chain) define() {
	c.macros = make(map[string][]setting)
	for _, l := range c.levels {
		for name, settings := range l.file.macros {
			if _, known := c.macros[name]; !known {
				c.macros[name] = settings
			}
		}
	}
	for i := range c.levels {
		c.levels[i].rules = c.mattering(c.levels[i].file)
	}
	c.settle()
}

// mattering returns the rules of a file that name a conversion attribute or a macro.
func (c *Chain) mattering(f *File) (list []*rule) {
	for i := range f.rules {
		if slices.ContainsFunc(f.rules[i].settings, c.matters) {
			list = append(list, &f.rules[i])
		}
	}
	return list
}

func (c *Chain) matters(s setting) bool {
	_, isMacro := c.macros[s.name]
	return isMacro || s.number != numOther
}

// settle works out what Enter and Converts need to know.
func (c *Chain) settle() {
	c.placed, c.converts = false, false
	for _, l := range c.levels {
		for _, r := range l.rules {
			c.placed = c.placed || !r.pattern.Basename
			c.converts = c.converts || slices.ContainsFunc(r.settings, c.mayConvert)
		}
	}
}

// mayConvert reports whether a setting may make a conversion. A macro that names
// another one is taken to.
func (c *Chain) mayConvert(s setting) bool {
	return s.converts() || s.value.State == Set && slices.ContainsFunc(c.macros[s.name], func(m setting) bool {
		return m.converts() || m.number == numOther && m.value.State == Set && c.matters(m)
	})
}

// converts reports whether s by itself may make a conversion. To unset an
// attribute only ever prevents one.
func (s *setting) converts() bool {
	return s.number != numOther && (s.value.State == Set || s.value.State == Valued)
}

// Converts reports whether any rule in force here or below may make a
// conversion. If it says no (the usual case: rules for diff, merge or the like
// only), and the configuration makes none by itself
// (cfg.Conversion(Attrs{}).Identity()), no file here needs a Lookup.
func (c *Chain) Converts() bool { return c.converts }

// Digest returns a number that is equal for chains with equal rules at equal
// places, in every process, and that differs for others as far as 64 bits can
// tell. It is 0 for a chain without any rule.
func (c *Chain) Digest() uint64 { return c.digest }

// Lookup returns the conversion attributes of the file name directly in this
// directory, as git check-attr does.
func (c *Chain) Lookup(name string) Attrs {
	var space [512]byte
	path := append(append(space[:0], c.path...), name...)
	l := lookup{chain: c, given: map[string]bool{}}
	for i := range c.levels {
		at := &c.levels[i]
		for _, r := range at.rules {
			if r.pattern.Match(path[at.base:], path[len(c.path):]) {
				l.take(r.settings)
			}
		}
	}
	return Attrs{
		Text: l.known[numText].value, CRLF: l.known[numCRLF].value, EOL: l.known[numEOL].value,
		Ident: l.known[numIdent].value, Filter: l.known[numFilter].value, Encoding: l.known[numEncoding].value,
	}
}

type answer struct {
	given bool // also by "!name"
	value Value
}

type lookup struct {
	chain *Chain
	known [numsOfAll]answer
	given map[string]bool // macros for which there is an answer; there may be very many
}

// first reports whether there is no answer for a name yet, and notes this one.
func (l *lookup) first(s *setting) bool {
	if s.number == numOther {
		given := l.given[s.name]
		l.given[s.name] = true
		return !given
	}
	at := &l.known[s.number]
	if at.given {
		return false
	}
	*at = answer{true, s.value}
	return true
}

// take notes the settings of what is not known yet, and what a macro that gets
// set stands for, at once. It keeps its own stack: macros may be nested as deep
// as a file is long.
func (l *lookup) take(settings []setting) {
	var space [4][]setting
	for stack := append(space[:0], settings); len(stack) > 0; {
		top := &stack[len(stack)-1]
		if len(*top) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		s := &(*top)[0]
		*top = (*top)[1:]
		macro, isMacro := l.chain.macros[s.name]
		if (isMacro || s.number != numOther) && l.first(s) && isMacro && s.value.State == Set {
			stack = append(stack, macro)
		}
	}
}
