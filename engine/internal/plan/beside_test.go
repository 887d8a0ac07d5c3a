package plan

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

func TestAListThatIsMadeBesideIsTheSame(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, besideBatch - 1, besideBatch, besideBatch + 1, 20 * besideBatch} {
		ended := false
		list := func(yield func(tree.Change, error) bool) {
			defer func() { ended = true }()
			for i := range n {
				if !yield(tree.Change{Path: fmt.Sprint(i)}, nil) {
					return
				}
			}
			yield(tree.Change{}, broken)
		}
		read := func(from iter.Seq2[tree.Change, error], most int) (lines []string) {
			for c, err := range from {
				if lines = append(lines, fmt.Sprint(c.Path, err)); len(lines) == most {
					break
				}
			}
			return lines
		}
		for _, most := range []int{1, n/2 + 1, n + 1, n + 2} { // where the caller stops, or the list ends
			want := read(list, most)
			ended = false
			if got := read(beside(list), most); !slices.Equal(got, want) || !ended {
				t.Errorf("of %d changes %d were read, %d else; the list has ended: %v", n, len(got), len(want), ended)
			}
		}
	}
}
