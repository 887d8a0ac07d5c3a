package main

import (
	"fmt"
	"io"
	"reflect"

	"github.com/seed-82afce7a/rewind/internal/visible"
)

// What is not ours is printed by say, and shown by plain; internal/visible says
// what it may hold.

// plain shows text on one line, in which nothing is left that a terminal obeys.
func plain(s string) string { return visible.Line(s) }

// hidden reports whether a character does not stand for itself on a terminal.
func hidden(r rune) bool { return visible.Hidden(r) }

// say prints what a person reads. Every argument that is text, an error included,
// is shown by [visible.Line] or [visible.Lines]: nobody has to know which of it is
// not ours.
func say(w io.Writer, format string, args ...any) {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case error:
			shown[i] = visible.Lines(v.Error())
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
