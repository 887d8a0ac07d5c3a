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

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// FileBytesMax is the size above which git takes an ignore file for empty. No
// rule file of any kind is read beyond it.
const FileBytesMax = 100 << 20

// Options say how an ignore file is read. Nil means the zero Options.
type Options struct {
	// FoldCase makes ASCII letters match in either case (core.ignoreCase).
	// All files of one chain must agree on it.
	FoldCase bool
}

// A File is the rules of one ignore file, compiled. It is immutable and may be
// shared. The zero File has no rules.
type File struct {
	rules  []wildmatch.Rule // last first: the first that matches decides
	names  []wildmatch.Rule // those of them that do not depend on the path
	fold   bool
	digest uint64
	weight int // above wildmatch.WeightMax: no rule was kept
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
	slices.Reverse(f.rules)
	f.names = f.rules
	placed := func(r wildmatch.Rule) bool { return !r.Basename }
	if slices.ContainsFunc(f.rules, placed) {
		f.names = slices.DeleteFunc(slices.Clone(f.rules), placed)
	}
	if !f.empty() {
		f.digest = sum.Digest()
	}
	return f
}

// empty reports whether the file has no rules at all.
func (f *File) empty() bool { return len(f.rules) == 0 }

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
	f.rules = append(f.rules, rule)
	f.weight += rule.Weight()
	sum.Add(pattern)
}
