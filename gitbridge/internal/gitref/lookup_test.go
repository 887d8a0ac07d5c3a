package gitref

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A countingReader counts what is read of a file.
type countingReader struct {
	*bytes.Reader
	read int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.read += n
	return n, err
}

func TestALookUpInManyPackedRefsReadsFewOfThem(t *testing.T) {
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	var names []string
	for i := range 60_000 {
		names = append(names, fmt.Sprintf("refs/heads/%x/%s%d", rng.Uint32(), strings.Repeat("x", rng.IntN(200)), i))
	}
	slices.Sort(names)
	for _, sorted := range []bool{true, false} {
		var file bytes.Buffer
		if sorted {
			fmt.Fprintln(&file, "# pack-refs with: peeled fully-peeled sorted ")
		}
		for i, name := range names {
			id := oid.SHA1.Sum(oid.Blob, []byte(name))
			fmt.Fprintf(&file, "%v %s\n", id, name)
			if i%3 == 0 {
				fmt.Fprintf(&file, "^%v\n", id)
			}
		}
		for range 300 {
			name := names[rng.IntN(len(names))]
			want := oid.SHA1.Sum(oid.Blob, []byte(name)).String()
			if rng.IntN(3) == 0 {
				name, want = name[:len(name)-1-rng.IntN(4)], "" // the beginning of a name that is there
				if slices.Contains(names, name) {
					continue
				}
			}
			f := &countingReader{Reader: bytes.NewReader(file.Bytes())}
			got, err := lookUp(f, int64(file.Len()), name)
			if err != nil || got != want {
				t.Fatalf("sorted %v: %s is %q, %v; want %q", sorted, name, got, err, want)
			}
			if sorted && f.read > 400<<10 {
				t.Errorf("%d of %d bytes were read", f.read, file.Len())
			}
			if !sorted && rng.IntN(20) > 0 {
				break
			}
		}
	}
}
