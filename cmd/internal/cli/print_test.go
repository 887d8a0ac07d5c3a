package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
)

// What stays on another machine may be thousands of files, each with the same reason.
func TestOfManyPathsWithTheSameReasonTheFirstAreNamed(t *testing.T) {
	var notes []engine.Note
	for i := range notesMost + 7 {
		notes = append(notes, engine.Note{Path: engine.Path(fmt.Sprintf("f%02d", i)), Reason: "it stays"})
	}
	notes = append(notes, engine.Note{Path: "other", Reason: "something else"}, engine.Note{Reason: "it has no path"})
	var out bytes.Buffer
	(&App{Stdio: Stdio{Err: &out}}).Note("kept", notes)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	want := []string{"kept: f00: it stays", "kept: f19: it stays", "kept: other: something else", "kept: it has no path", "kept: 7 more paths: it stays"}
	for i, at := range []int{0, notesMost - 1, notesMost, notesMost + 1, notesMost + 2} {
		if len(lines) != notesMost+3 || lines[at] != want[i] {
			t.Errorf("line %d of %d is not %q:\n%s", at, len(lines), want[i], out.String())
		}
	}
}
