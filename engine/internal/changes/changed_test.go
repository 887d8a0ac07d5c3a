package changes

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

func TestARowSaysWhatWasWritten(t *testing.T) {
	seed := seed.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		c := some(random)
		got, err := Decode(c.Encode())
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("%+v became %+v, %v", c, got, err)
		}
		row := c.Encode()
		for range 20 { // whatever happens to its bytes, it is read or refused
			bad := slices.Clone(row[:random.IntN(len(row)+1)])
			if len(bad) > 0 {
				bad[random.IntN(len(bad))] = byte(random.IntN(256))
			}
			if c, err := Decode(bad); err == nil && len(c.Names) > namesMax {
				t.Fatalf("%d names", len(c.Names))
			}
		}
	}
}

// some makes what a snapshot could have changed.
func some(random *rand.Rand) *Changed {
	var names []Name
	for i := range random.IntN(300) {
		n := Name{Path: fmt.Sprintf("%03d/\xff%03d", i/40, i), Status: "MADT"[random.IntN(4)], Dir: random.IntN(9) == 0}
		if !n.Dir && random.IntN(3) > 0 {
			n.Counted, n.Added, n.Removed = true, random.IntN(1000), random.IntN(3)
		}
		names = append(names, n)
	}
	base := oid.ID{}
	if random.IntN(4) > 0 {
		base = oid.SHA1.Sum(oid.Blob, []byte{byte(random.IntN(256))})
	}
	if random.IntN(5) == 0 {
		return &Changed{Base: base}
	}
	for i := range names {
		if len(names) <= namesMax && random.IntN(4) == 0 {
			names[i].From = names[random.IntN(len(names))].Path
		}
	}
	c := sum(base, names)
	c.Settled = random.IntN(2) == 0
	return c
}

// TestARowOfTooManyNamesNeverSaysNoOfWhatChanged asks of every path that changed, of
// the directories above it, and of paths that did not change.
func TestARowOfTooManyNamesNeverSaysNoOfWhatChanged(t *testing.T) {
	seed := seed.Of(t)
	random := rand.New(rand.NewPCG(seed, 2))
	for range 60 {
		all := map[string]bool{}
		for range 1 + random.IntN(900) {
			all[fmt.Sprintf("a%d/b%d/c%d", random.IntN(1+random.IntN(200)), random.IntN(20), random.IntN(9))] = true
		}
		var names []Name
		for path := range all {
			names = append(names, Name{Path: path, Status: 'M', Counted: true})
		}
		slices.SortFunc(names, func(a, b Name) int { return compare(a.Path, b.Path) })
		c := sum(oid.ID{}, names)
		files := 0
		for _, n := range c.Names {
			if c.Coarse {
				files += n.Files
			}
		}
		if c.Coarse && len(c.Names) > 0 && files != len(names) {
			t.Fatalf("%d of %d files are in the directories", files, len(names))
		}
		for path := range all {
			for _, asked := range []string{path, path[:len(path)-3], firstParts(path, 1)} {
				if yes, sure := c.Touches(asked); sure && !yes {
					t.Fatalf("%q: no, and %q changed", asked, path)
				}
			}
		}
		for range 200 {
			path := fmt.Sprintf("a%d/b%d/c%d", random.IntN(300), random.IntN(30), random.IntN(12))
			if yes, _ := c.Touches(path); yes && !all[path] {
				t.Fatalf("%q: yes, and it did not change", path)
			}
		}
	}
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}
