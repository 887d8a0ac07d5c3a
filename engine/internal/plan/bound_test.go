package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

func TestAListHasRoomForTheLargestRepositoriesAndNoMore(t *testing.T) {
	var r listBound
	for range 1_200_000 { // a million files and their directories
		if err := r.count(strings.Repeat("x", 100)); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; ; n++ {
		if err := r.count("x"); errors.Is(err, tree.ErrLarge) {
			break
		}
		if n == pathsMax {
			t.Fatal("any number is taken")
		}
	}
	long := listBound{}
	for n := 0; long.count(strings.Repeat("x", 1<<20)) == nil; n++ {
		if n == 1<<20 {
			t.Fatal("paths of any length are taken")
		}
	}
}
