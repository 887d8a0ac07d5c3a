package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A look is how text is drawn: the codes of one escape sequence, in the sixteen
// colours that a person has chosen for his terminal. Nothing is told by a colour
// alone: a sign or a word stands beside each.
type look string

const (
	usual   look = ""
	faint   look = "2"
	strong  look = "1"
	accent  look = "36"
	special look = "1;36"
	good    look = "32"
	bad     look = "31"
	careful look = "33"
	danger  look = "1;31"
	chosen  look = "1;97;44" // the row that keys act on
	chosen0 look = "1;7"     // the same without colours
	marked  look = "1"       // the row of a pane that has not the keys
)

// A span is a part of a row. Its text has gone through internal/visible.
type span struct {
	text string
	look look
}

// width returns how many cells text takes.
func width(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// cut shortens text to so many cells, with a sign that something is missing.
func cut(text string, cells int) string {
	if cells <= 0 {
		return ""
	}
	if width(text) <= cells {
		return text
	}
	return ansi.Truncate(text, cells, "…")
}

// paint draws text in a look.
func paint(text string, l look) string {
	if l == usual || text == "" {
		return text
	}
	return "\x1b[" + string(l) + "m" + text + "\x1b[m"
}

// row draws spans on exactly so many cells. Over, if it is not empty, is the look
// of all of them.
func row(cells int, over look, spans ...span) string {
	var b, plain strings.Builder
	left := cells
	for _, s := range spans {
		if left <= 0 {
			break
		}
		text := cut(s.text, left)
		left -= width(text)
		plain.WriteString(text)
		b.WriteString(paint(text, s.look))
	}
	blank := strings.Repeat(" ", max(0, left))
	if over != usual {
		return paint(plain.String()+blank, over)
	}
	return b.String() + blank
}

// sides draws spans on exactly so many cells: the last one at the right edge,
// where it stays whole and the others give way.
func sides(cells int, over look, right []span, spans ...span) string {
	taken := 0
	for _, s := range right {
		taken += width(s.text)
	}
	if taken == 0 || taken > cells*2/3 {
		return row(cells, over, spans...)
	}
	left := cells - taken
	var begin []span
	for _, s := range spans {
		text := cut(s.text, left)
		left -= width(text)
		begin = append(begin, span{text, s.look})
	}
	begin = append(begin, span{strings.Repeat(" ", max(0, left)), usual})
	return row(cells, over, append(begin, right...)...)
}

// A frame is the border of a pane.
type frame struct {
	title, foot string
	focused     bool
}

// box draws rows, each as wide as the inside, into a border.
func (f frame) box(r rect, rows []string) []string {
	corners, edge, ink := "╭╮╰╯─│", faint, usual
	if f.focused {
		corners, edge, ink = "┏┓┗┛━┃", accent, special
	}
	c := []rune(corners)
	line := func(left, right rune, text string) string {
		inside := r.w - 2
		if text = cut(text, inside-4); text == "" {
			return paint(string(left)+strings.Repeat(string(c[4]), inside)+string(right), edge)
		}
		rest := inside - 3 - width(text)
		return paint(string(left)+string(c[4])+" ", edge) + paint(text, ink) + paint(" "+strings.Repeat(string(c[4]), max(0, rest))+string(right), edge)
	}
	out := []string{line(c[0], c[1], f.title)}
	side := paint(string(c[5]), edge)
	for i := range r.h - 2 {
		text := strings.Repeat(" ", max(0, r.w-2))
		if i < len(rows) {
			text = rows[i]
		}
		out = append(out, side+text+side)
	}
	return append(out, line(c[2], c[3], f.foot))
}

// wrap breaks text into rows of at most so many cells.
func wrap(text string, cells int) []string {
	return strings.Split(ansi.Wrap(text, max(1, cells), " "), "\n")
}

// cutLeft leaves out so many cells at the beginning.
func cutLeft(text string, cells int) string { return ansi.TruncateLeft(text, cells, "") }
