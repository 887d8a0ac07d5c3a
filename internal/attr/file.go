// Package attr decides which conversions git makes of a file on its way into
// the repository, and makes them.
//
// It promises git's own answers: the attributes of a file as git check-attr
// gives them (gitattributes(5)), and from the bytes on disk the bytes that git
// add would store. What it cannot do as git does it refuses with an error of
// its own; it never guesses. It runs no program unless the caller hands it a
// way to run one.
//
// The package does not know where attributes files lie or how they are read,
// nor what a repository or an index is.
package attr

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/cquote"
	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// Bounds at and above which git leaves out a file, or a line.
const (
	attributesBytesMax = 100 << 20
	ruleBytesMax       = 2048
)

// What is taken, roughly, by a macro, and by an attribute of a rule or a macro.
const (
	macroWeight   = 256
	settingWeight = 112
)

// Options say how an attributes file is read. Nil means the zero Options.
type Options struct {
	// FoldCase makes ASCII letters match in either case (core.ignoreCase).
	// All files of one chain must agree on it.
	FoldCase bool
	// Macros lets the file define macros ("[attr]name"). git allows it in the
	// files outside the tree and in the one of the root directory.
	Macros bool
}

// A File is the rules of one attributes file, compiled. It is immutable and may
// be shared. The zero File has no rules.
type File struct {
	rules  []rule // last first
	macros map[string][]setting
	fold   bool
	digest uint64
	weight int // above wildmatch.WeightMax: no rule was kept
}

// A rule is one line: what it gives to the paths that it matches.
type rule struct {
	pattern  wildmatch.Rule
	settings []setting // last first: of two for one attribute the last counts
}

type setting struct {
	name   string
	number int // of a conversion attribute
	value  Value
}

// A Value is the state of one attribute of a file. The zero Value is
// unspecified.
type Value struct {
	State State
	Text  string // of a Valued attribute
}

// State says how an attribute is given.
type State uint8

// The states of an attribute.
const (
	Unspecified State = iota
	Set               // "name"
	Unset             // "-name"
	Valued            // "name=text"
)

// Parse compiles the bytes of an attributes file. There is no malformed file: a
// line that git cannot use is left out, here as there.
func Parse(data []byte, opt *Options) *File {
	if opt == nil {
		opt = &Options{}
	}
	f := &File{fold: opt.FoldCase}
	if len(data) >= attributesBytesMax {
		return f
	}
	sum := wildmatch.NewSum(wildmatch.Of(f.fold))
	for line, ended := range wildmatch.Lines(data) {
		if ended {
			line = bytes.TrimSuffix(line, []byte{'\r'})
		}
		line, _, _ = bytes.Cut(line, []byte{0})
		if len(line) < ruleBytesMax && f.add(string(line), opt.Macros) {
			sum.Add(string(line))
		}
		if f.weight > wildmatch.WeightMax {
			return &File{fold: f.fold, weight: f.weight}
		}
	}
	slices.Reverse(f.rules)
	if !f.empty() {
		f.digest = sum.Digest()
	}
	return f
}

// empty reports whether the file has neither rules nor macros.
func (f *File) empty() bool { return len(f.rules) == 0 && len(f.macros) == 0 }

const (
	blanks      = " \t\r\n"
	macroPrefix = "[attr]"
)

// add takes one line in and reports whether it says anything.
func (f *File) add(line string, macros bool) bool {
	line = strings.TrimLeft(line, blanks)
	if line == "" || line[0] == '#' {
		return false
	}
	pattern, rest, quoted := cquote.Cut(line)
	if !quoted {
		pattern, rest = word(line)
	}
	macro, isMacro := strings.CutPrefix(pattern, macroPrefix)
	if isMacro = isMacro && macro != ""; isMacro {
		macro, _ = word(strings.TrimLeft(macro, blanks))
		if !macros || !validName(macro) {
			return false
		}
	}
	settings, ok := parseSettings(rest)
	if !ok {
		return false
	}
	if isMacro {
		if f.macros == nil {
			f.macros = make(map[string][]setting)
		}
		f.macros[macro] = settings
		f.weight += macroWeight + len(line) + settingWeight*len(settings)
		return true
	}
	pattern, _, _ = strings.Cut(pattern, "\x00")
	r := wildmatch.ParseRule(pattern, wildmatch.Of(f.fold))
	if r.Negated {
		return false // forbidden: git warns and goes on
	}
	if !r.DirOnly && !r.Never() { // what matches no file says nothing
		f.rules = append(f.rules, rule{r, settings})
		f.weight += r.Weight() + len(line) + settingWeight*len(settings)
	}
	return true
}

// word splits off what comes before the next blank.
func word(s string) (first, rest string) {
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// parseSettings parses the attributes of a line, last first. One bad name makes
// the whole line void.
func parseSettings(s string) ([]setting, bool) {
	var list []setting
	for {
		s = strings.TrimLeft(s, blanks)
		if s == "" {
			slices.Reverse(list)
			return list, true
		}
		var one string
		one, s = word(s)
		name, text, hasText := strings.Cut(one, "=")
		v := Value{State: Set}
		switch {
		case one[0] == '-':
			name, v.State = name[min(1, len(name)):], Unset
		case one[0] == '!':
			name, v.State = name[min(1, len(name)):], Unspecified
		case hasText:
			v = Value{State: Valued, Text: text}
		}
		if !validName(name) {
			return nil, false
		}
		number, converts := conversionNames[name]
		if !converts {
			number = numOther
		}
		list = append(list, setting{name, number, v})
	}
}

func validName(s string) bool {
	for _, c := range []byte(s) {
		ok := c == '-' || c == '.' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !ok {
			return false
		}
	}
	return s != "" && s[0] != '-'
}
