// Package ignore decides which paths a worktree's ignore files exclude.
//
// It promises git's own decisions (gitignore(5); where that page is silent git
// itself is the judge, and the tests ask it), and that deciding about one name
// allocates nothing.
//
// The package does not know where the files lie or how they are read: the walk
// hands their bytes in. It decides about one name at a time; that everything
// below an ignored directory is ignored, and that what git tracks is never
// ignored, is for the caller to apply.
package ignore

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// FileBytesMax is the size above which git takes an ignore file for empty. No
// rule file of any kind is read beyond it.
const FileBytesMax = 100 << 20

// What rules take, roughly: by themselves, for a byte of a pattern with
// wildcards, and for a directory that a path names.
const (
	ruleWeight = 128
	globWeight = 128
	byteWeight = 24
	dirWeight  = 64
)

// Options say how an ignore file is read. Nil means the zero Options.
type Options struct {
	// FoldCase makes ASCII letters match in either case (core.ignoreCase).
	// All files of one chain must agree on it.
	FoldCase bool
}

// A File is the rules of one ignore file, compiled. It is immutable and may be
// shared. The zero File has no rules.
//
// A rule is known by its place: 1 for the first, and the highest that matches
// decides. Rules are sorted by what it takes to try them, so that of the usual
// hundred only a few are.
type File struct {
	negated []bool // by place less 1
	fold    bool
	digest  uint64
	weight  int // above wildmatch.WeightMax: no rule was kept

	names     map[string]places   // a name
	suffixes  map[byte][]ending   // "*.ext", by the last byte, last rule first
	globs     []glob              // other patterns of a name, last rule first
	paths     map[string]places   // a path, relative to the file's directory
	dirs      map[string]struct{} // the directories in which or below which paths has something, ending with a slash
	pathGlobs []glob              // other patterns of a path, last rule first
}

// places are the highest rules that match: a directory, and anything else.
type places struct{ dir, other int32 }

type ending struct {
	text string
	places
}

type glob struct {
	rule  wildmatch.Rule
	place int32
}

// Parse compiles the bytes of an ignore file. There is no malformed file: a
// pattern that git cannot use matches nothing, here as there.
func Parse(data []byte, opt *Options) *File {
	if opt == nil {
		opt = &Options{}
	}
	f := &File{fold: opt.FoldCase}
	if len(data) > FileBytesMax {
		return f
	}
	sum := wildmatch.NewSum(wildmatch.Of(f.fold))
	for line := range wildmatch.Lines(data) {
		if pattern := patternOf(line); pattern != "" {
			f.add(pattern, sum)
		}
		if f.weight > wildmatch.WeightMax {
			return &File{fold: f.fold, weight: f.weight}
		}
	}
	slices.Reverse(f.globs)
	slices.Reverse(f.pathGlobs)
	for _, list := range f.suffixes {
		slices.Reverse(list)
	}
	if !f.empty() {
		f.digest = sum.Digest()
	}
	return f
}

// empty reports whether the file has no rules at all.
func (f *File) empty() bool { return len(f.negated) == 0 }

// patternOf returns the pattern on a line, "" if there is none. Of a line end
// one carriage return goes, a NUL ends the line, and spaces at the end go
// unless a backslash stands before them.
func patternOf(line []byte) string {
	if len(line) == 0 || line[0] == '#' {
		return ""
	}
	line = bytes.TrimSuffix(line, []byte{'\r'})
	line, _, _ = bytes.Cut(line, []byte{0})
	end := 0 // the length without trailing spaces
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
			if i == len(line) {
				return string(line) // git trims nothing before a backslash at the very end
			}
		}
		end = i + 1
	}
	return string(line[:end])
}

func (f *File) add(pattern string, sum wildmatch.Sum) {
	rule := wildmatch.ParseRule(pattern, wildmatch.Of(f.fold))
	if rule.Never() {
		return
	}
	f.negated = append(f.negated, rule.Negated)
	place := int32(len(f.negated))
	sum.Add(pattern)

	text, isLiteral := rule.Literal()
	tail, isSuffix := rule.Suffix()
	f.weight += ruleWeight + len(pattern)
	if !isLiteral {
		f.weight += globWeight + byteWeight*len(pattern)
	}
	switch {
	case isLiteral && rule.Basename:
		mark(&f.names, text, rule.DirOnly, place)
	case isLiteral:
		mark(&f.paths, text, rule.DirOnly, place)
		f.markDirs(text)
	case isSuffix && tail != "":
		f.addSuffix(tail, rule.DirOnly, place)
	case rule.Basename:
		f.globs = append(f.globs, glob{rule, place})
	default:
		f.pathGlobs = append(f.pathGlobs, glob{rule, place})
	}
}

func mark(m *map[string]places, key string, dirOnly bool, place int32) {
	if *m == nil {
		*m = make(map[string]places)
	}
	at := (*m)[key]
	at.dir = place
	if !dirOnly {
		at.other = place
	}
	(*m)[key] = at
}

func (f *File) markDirs(path string) {
	if f.dirs == nil {
		f.dirs = make(map[string]struct{})
	}
	for {
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return
		}
		f.dirs[path[:i+1]] = struct{}{}
		f.weight += dirWeight
		path = path[:i]
	}
}

func (f *File) addSuffix(text string, dirOnly bool, place int32) {
	if f.suffixes == nil {
		f.suffixes = make(map[byte][]ending)
	}
	e := ending{text: text, places: places{dir: place}}
	if !dirOnly {
		e.other = place
	}
	last := text[len(text)-1]
	f.suffixes[last] = append(f.suffixes[last], e)
}
