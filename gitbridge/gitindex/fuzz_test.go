package gitindex

import (
	"crypto/sha1"
	"errors"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// FuzzDecode feeds arbitrary bytes; the trailer is made right, or the checksum
// would keep everything interesting out. The same bytes serve as the shared
// file of a split index.
func FuzzDecode(f *testing.F) {
	f.Add(build([]item{{path: "a/b"}, {path: "a/c"}}), []byte{})
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"), build([]item{{path: "a/d"}}))
	f.Fuzz(func(t *testing.T, data, shared []byte) {
		seal(data)
		seal(shared)
		opt := &Options{Shared: func(oid.ID) ([]byte, error) { return shared, nil }}
		x, err := Decode(data, opt)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("error without a sentinel: %v", err)
			}
			return
		}
		sum := 0
		for i := range x.dirs {
			d := x.Dir(x.dirs[i].path)
			if d == nil || d.Digest == 0 {
				t.Fatalf("directory %q is not found", x.dirs[i].path)
			}
			sum += len(d.Entries)
			if !d.Sparse.IsZero() {
				sum++
			}
		}
		if sum != x.Len() || len(list(x)) != x.Len() {
			t.Errorf("%d entries in directories, Len %d", sum, x.Len())
		}
	})
}

func seal(data []byte) {
	if len(data) >= 20 {
		sum := sha1.Sum(data[:len(data)-20])
		copy(data[len(data)-20:], sum[:])
	}
}
