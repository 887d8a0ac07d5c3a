// Package visible shows text that is not ours. Names, labels, branches, settings
// and what git says may hold escape sequences that a terminal obeys, and characters
// that turn text around. Whatever is printed for a person goes through here first.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line shows text on one line, in which nothing is left that a terminal obeys.
func Line(s string) string {
	if strings.IndexFunc(s, Hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !Hidden(r):
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

// Lines shows text of several lines. All but the first are indented, lest one be
// taken for a line of ours.
func Lines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = Line(strings.ReplaceAll(lines[i], "\t", "  "))
	}
	return strings.Join(lines, "\n  ")
}

// Hidden reports whether a character does not stand for itself on a terminal:
// controls, and what joins or turns around others.
func Hidden(r rune) bool { return !unicode.IsGraphic(r) }
