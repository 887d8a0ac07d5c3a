package ui

import (
	"strings"

	"github.com/seed-82afce7a/rewind/internal/visible"
)

// A field is a line that a person types.
type field struct {
	text []rune
	at   int // where the next character goes
}

// put sets what stands in it.
func (f *field) put(text string) { f.text, f.at = []rune(text), len([]rune(text)) }

func (f *field) String() string { return string(f.text) }

// press takes a key; false: it means nothing here.
func (f *field) press(key, text string) bool {
	switch key {
	case "left":
		f.at = max(0, f.at-1)
	case "right":
		f.at = min(len(f.text), f.at+1)
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "backspace", "ctrl+h":
		if f.at > 0 {
			f.text = append(f.text[:f.at-1:f.at-1], f.text[f.at:]...)
			f.at--
		}
	case "delete":
		if f.at < len(f.text) {
			f.text = append(f.text[:f.at:f.at], f.text[f.at+1:]...)
		}
	case "ctrl+u":
		f.text, f.at = f.text[f.at:], 0
	case "ctrl+w":
		left := strings.TrimRight(string(f.text[:f.at]), " ")
		left = left[:strings.LastIndexByte(left, ' ')+1]
		f.text, f.at = append([]rune(left), f.text[f.at:]...), len([]rune(left))
	default:
		typed := []rune(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " "))
		if len(typed) == 0 || len(f.text)+len(typed) > maxText {
			return false
		}
		f.text = append(f.text[:f.at:f.at], append(typed, f.text[f.at:]...)...)
		f.at += len(typed)
	}
	return true
}

// spans show it with the place where the next character goes.
func (f *field) spans() []span {
	under, behind := " ", ""
	if f.at < len(f.text) {
		under, behind = string(f.text[f.at]), string(f.text[f.at+1:])
	}
	return []span{{visible.Line(string(f.text[:f.at])), usual}, {visible.Line(under), "7"}, {visible.Line(behind), usual}}
}
