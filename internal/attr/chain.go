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

// The conversion attributes have the first numbers; macros follow.
const (
	numText = iota
	numCRLF
	numEOL
	numIdent
	numFilter
	numEncoding
	numMacro
)

var conversionNames = map[string]int{
	"text": numText, "crlf": numCRLF, "eol": numEOL, "ident": numIdent, "filter": numFilter, "working-tree-encoding": numEncoding,
}

// A Chain is the attribute rules in force in one directory. It is immutable and
// safe for concurrent use; chains of subdirectories share what they can with it.
type Chain struct {
	levels   []level // highest precedence first
	own      int     // where in levels the next file of a directory goes: 1 if there is an info file
	words    *words
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
	rules []numbered
}

// A numbered rule has numbers for the names of attributes.
type numbered struct {
	rule     *rule
	settings []numberedSetting // last first
	converts bool
}

type numberedSetting struct {
	number int
	value  Value
}

// words number the names that matter to a chain: the conversion attributes, and
// the macros in force with what they stand for.
type words struct {
	numbers map[string]int
	macros  [][]numberedSetting // by number; nil for what is no macro
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
		sub.levels[c.own].rules = c.words.number(f.rules)
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
		matchless := func(n numbered) bool { return !n.rule.pattern.Reaches(dir) }
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

// define collects the macros of all levels, the highest first, and numbers
// every rule anew.
func (c *Chain) define() {
	w := &words{numbers: make(map[string]int)}
	for name, n := range conversionNames {
		w.numbers[name] = n
	}
	next := numMacro
	meaning := make(map[string][]setting)
	for _, l := range c.levels {
		for name, settings := range l.file.macros {
			if _, known := meaning[name]; known {
				continue
			}
			meaning[name] = settings
			if _, known := w.numbers[name]; !known {
				w.numbers[name] = next
				next++
			}
		}
	}
	w.macros = make([][]numberedSetting, next)
	for name, settings := range meaning {
		w.macros[w.numbers[name]] = w.settings(settings)
	}
	c.words = w
	for i := range c.levels {
		c.levels[i].rules = w.number(c.levels[i].file.rules)
	}
	c.settle()
}

// settle works out what Enter and Converts need to know.
func (c *Chain) settle() {
	c.placed, c.converts = false, false
	for _, l := range c.levels {
		for _, n := range l.rules {
			c.placed = c.placed || !n.rule.pattern.Basename
			c.converts = c.converts || n.converts
		}
	}
}

// number returns the rules that name something of w.
func (w *words) number(rules []rule) []numbered {
	var list []numbered
	for i := range rules {
		s := w.settings(rules[i].settings)
		if len(s) > 0 {
			list = append(list, numbered{rule: &rules[i], settings: s, converts: w.convert(s)})
		}
	}
	return list
}

func (w *words) settings(settings []setting) []numberedSetting {
	var list []numberedSetting
	for _, s := range settings {
		if n, ok := w.numbers[s.name]; ok {
			list = append(list, numberedSetting{n, s.value})
		}
	}
	return list
}

// convert reports whether settings may make a conversion. A macro that names
// another one is taken to.
func (w *words) convert(settings []numberedSetting) bool {
	return slices.ContainsFunc(settings, func(s numberedSetting) bool {
		return s.converts() || s.value.State == Set && slices.ContainsFunc(w.macros[s.number], func(m numberedSetting) bool {
			return m.converts() || m.number >= numMacro && m.value.State == Set
		})
	})
}

// converts reports whether s by itself may make a conversion. To unset an
// attribute only ever prevents one.
func (s numberedSetting) converts() bool {
	return s.number < numMacro && (s.value.State == Set || s.value.State == Valued)
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
	l := lookup{words: c.words}
	if n := len(c.words.macros); n > len(l.space) {
		l.known = make([]answer, n)
	} else {
		l.known = l.space[:n]
	}
	for i := range c.levels {
		at := &c.levels[i]
		for j := range at.rules {
			n := &at.rules[j]
			if n.rule.pattern.Match(path[at.base:], path[len(c.path):]) {
				l.take(n.settings)
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
	words *words
	known []answer // by number
	space [12]answer
}

// take notes the settings of what is not known yet, and what a macro that gets
// set stands for, at once. It keeps its own stack: macros may be nested as deep
// as a file is long.
func (l *lookup) take(settings []numberedSetting) {
	var space [4][]numberedSetting
	for stack := append(space[:0], settings); len(stack) > 0; {
		top := &stack[len(stack)-1]
		if len(*top) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		s := (*top)[0]
		*top = (*top)[1:]
		if l.known[s.number].given {
			continue
		}
		l.known[s.number] = answer{true, s.value}
		if s.value.State == Set {
			stack = append(stack, l.words.macros[s.number])
		}
	}
}
