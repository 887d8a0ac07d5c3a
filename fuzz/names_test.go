//go:build linux

package fuzz

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The names are few, so that they meet again as something else.
var (
	dirNames  = []string{"a", "b", "d", "e", "out", "in", "a.b", "sp ace", "A~"}
	fileNames = []string{"f", "g.txt", "h.o", "i.c", "k.bin", "l.enc", "m.flt", ".hidden", "-n", "a", "b", "out", "core"}
	oddNames  = []string{"nl\nx", "q\"uote", "colon:x", "st*r", "[br]", "qu?st", "\xff\xfe", "tab\t", "back\\slash", "#hash", "!bang", " lead", "trail ",
		strings.Repeat("long", 63) + "end", "é", "$(x)", "a.txt.", "~", "%41"}
	twinNames    = []string{"F", "Out", "G.TXT", "D"}
	refusedNames = []string{".GIT", "git~1", ".git ", ".Git.", ".git::$INDEX_ALLOCATION"}
	allNames     = slices.Concat(dirNames, fileNames, oddNames, twinNames, refusedNames, decomposed)
)

// eitherCase are the letters that some name has in upper case: a pattern that has one
// of them matches other names where core.ignoreCase is set.
var eitherCase = strings.Map(func(r rune) rune {
	if unicode.IsUpper(r) {
		return r
	}
	return -1
}, strings.Join(allNames, ""))

// dirName draws the path of a directory, "" for the root.
func (w *world) dirName() string {
	p := ""
	for w.one(2) && strings.Count(p, "/") < 3 {
		name := pick(w, dirNames)
		if w.one(12) {
			name = pick(w, oddNames)
		}
		p += name + "/"
	}
	return p
}

// fileName draws the path of a file.
func (w *world) fileName() string {
	name := pick(w, fileNames)
	switch {
	case w.kind.Odd && w.one(10):
		name = pick(w, decomposed)
	case w.one(8):
		name = pick(w, oddNames)
	case w.one(15) && w.kind.Twins, w.kind.Case && w.kind.Twins && w.one(3):
		name = pick(w, twinNames)
	case w.one(60) && !w.tame:
		name = pick(w, refusedNames)
	}
	return w.dirName() + name
}

// pattern draws the pattern of an ignore or attribute rule.
func (w *world) pattern() string {
	word := func() string {
		s := pick(w, append(append([]string{}, fileNames...), dirNames...))
		if w.one(8) {
			s = pick(w, oddNames)
		}
		switch w.rng.IntN(9) {
		case 0:
			return "*"
		case 1:
			return "*" + s[w.rng.IntN(len(s)):]
		case 2:
			return s[:w.rng.IntN(len(s)+1)] + "*"
		case 3:
			return "?" + s[1:]
		case 4:
			return pick(w, []string{"[a-f]", "[!a]", "[[:alpha:]]*", "[^x]*.txt", "[a", "[]-]", `[\a]`, "[a-"})
		case 5:
			return pick(w, []string{"**", "*.o", "*.txt", "**.c", "a**b", `\*`, `\a`, `f\`})
		}
		return s
	}
	p := word()
	for w.one(3) {
		p += "/" + word()
	}
	if w.one(4) {
		p = "/" + p
	}
	if w.one(6) {
		p = "**/" + p
	}
	if w.kind.Case && w.kind.Twins { // it must mean the same in either case
		p = strings.Map(func(r rune) rune {
			if strings.ContainsRune(eitherCase, r) || strings.ContainsRune(eitherCase, unicode.ToUpper(r)) {
				return '?'
			}
			return r
		}, p)
	}
	return strings.ReplaceAll(p, "\n", "")
}

// ignoreRules draws an ignore file.
func (w *world) ignoreRules() string {
	var b strings.Builder
	if w.one(25) {
		b.WriteString("\xef\xbb\xbf")
	}
	for range 1 + w.rng.IntN(4) {
		line := w.pattern()
		if w.one(3) {
			line += "/"
		}
		if w.one(4) {
			line = "!" + line
		}
		switch w.rng.IntN(20) {
		case 0:
			line += "  "
		case 1:
			line += `\ `
		case 2:
			line = "# " + line
		case 3:
			line = `\` + line
		case 4:
			line += "\t"
		case 5:
			line = " " + line
		}
		b.WriteString(line + pick(w, []string{"\n", "\n", "\n", "\r\n", "\n\n"}))
	}
	s := b.String()
	if w.one(6) {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

// attributes draws an attribute file.
func (w *world) attributes(macros bool) string {
	values := []string{"text", "-text", "!text", "text=auto", "eol=lf", "eol=crlf", "!eol", "crlf", "-crlf", "crlf=input", "ident", "-ident", "binary", "-diff", "m1", "-m1", "!m1"}
	if w.kind.Filters {
		values = append(values, "filter=up", "filter=bad", "filter=need", "filter=proc", "filter=must", "-filter", "filter=none", "!filter")
	}
	if w.kind.LFS {
		values = append(values, "filter=lfs", "filter=lfs", "filter=lfs -text")
	}
	if w.kind.Encoding {
		values = append(values, "working-tree-encoding=UTF-16", "working-tree-encoding=UTF-16LE", "working-tree-encoding=UTF-16LE-BOM", "working-tree-encoding=ISO-8859-1", "-working-tree-encoding")
	}
	var b strings.Builder
	for range 1 + w.rng.IntN(4) {
		line := w.pattern()
		if strings.ContainsAny(line, " \t\"") {
			line = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(line) + `"`
		}
		if macros && w.one(6) {
			line = "[attr]m1"
		}
		for range 1 + w.rng.IntN(3) {
			line += " " + pick(w, values)
		}
		fmt.Fprintf(&b, "%s%s", line, pick(w, []string{"\n", "\n", "\r\n"}))
	}
	return b.String()
}

// content draws what stands in a file.
func (w *world) content() string {
	number := w.rng.IntN(1000)
	text := fmt.Sprintf("%d a line\n", number)
	switch w.rng.IntN(16) {
	case 0:
		return ""
	case 1:
		return text + "more\r\n" + "$Id$\n"
	case 2:
		return strings.ReplaceAll(text+text, "\n", "\r\n")
	case 3:
		return text + "$Id: 0123 $ and $Id:$ $Id\n"
	case 4:
		return "bin\x00ary\r\n" + text
	case 5:
		return text + "lone\rcr\r\n"
	case 6:
		return "\xff\xfet\x00e\x00\r\x00\n\x00"
	case 7:
		return []string{"FAIL ", "ABORT "}[number%2] + text
	case 8:
		return strings.Repeat(text, w.rng.IntN(3000))
	case 9:
		return "\xe9\xff latin\n" + text
	case 10:
		return text + "\x1a"
	case 11:
		return "\xfe\xff\x00t\x00e\x00\r\x00\n"
	case 12:
		return "t\x00\r\x00\n\x00"
	}
	return text
}
