// Package show prints for people: text that holds nothing a terminal obeys, lists, graphs, patches, and progress.
package show

import (
	"fmt"
	"io"
	"reflect"

	"github.com/seed-82afce7a/rewind/internal/visible"
)

// What is not ours is printed by say, and shown by plain; internal/visible says
// what it may hold.

// Say prints what a person reads. Every argument that is text, an error included,
// is shown by [visible.Line] or [visible.Lines]: nobody has to know which of it is
// not ours.
func Say(w io.Writer, format string, args ...any) {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case error:
			shown[i] = visible.Lines(v.Error())
		case fmt.Stringer:
			shown[i] = visible.Line(v.String())
		default:
			if shown[i] = arg; reflect.ValueOf(arg).Kind() == reflect.String {
				shown[i] = visible.Line(fmt.Sprint(arg))
			}
		}
	}
	fmt.Fprintf(w, format, shown...)
}
