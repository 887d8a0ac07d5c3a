package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is not ours (names, labels, branches, settings, what git says) may hold
// escape sequences that a terminal obeys, and characters that turn text around. It
// is printed by say, and shown by plain.

// plain shows text on one line, in which nothing is left that a terminal obeys.
func plain(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r):
			b.WriteString(s[i : i+n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// hidden reports whether a character does not stand for itself on a terminal:
// controls, and what joins or turns around others.
func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// plainLines shows text of several lines. All but the first are indented, lest one
// be taken for a line of ours.
func plainLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = plain(strings.ReplaceAll(lines[i], "\t", "  "))
	}
	return strings.Join(lines, "\n  ")
}

// say prints what a person reads. Every argument that is text, an error included,
// is shown by plain or plainLines: nobody has to know which of it is not ours.
func say(w io.Writer, format string, args ...any) {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case error:
			shown[i] = plainLines(v.Error())
		case fmt.Stringer:
			shown[i] = plain(v.String())
		default:
			if shown[i] = arg; reflect.ValueOf(arg).Kind() == reflect.String {
				shown[i] = plain(fmt.Sprint(arg))
			}
		}
	}
	fmt.Fprintf(w, format, shown...)
}
