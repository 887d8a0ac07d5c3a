package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

func TestAListHasRoomForTheLargestRepositoriesAndNoMore(t *testing.T) {
	var r Room
	for range 1_200_000 { // a million files and their directories
		if err := r.Take(strings.Repeat("x", 100)); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; ; n++ {
		if err := r.Take("x"); errors.Is(err, tree.ErrLarge) {
			break
		}
		if n == pathsMax {
			t.Fatal("there is room for any number")
		}
	}
	long := Room{}
	for n := 0; long.Take(strings.Repeat("x", 1<<20)) == nil; n++ {
		if n == 1<<20 {
			t.Fatal("there is room for paths of any length")
		}
	}
}
