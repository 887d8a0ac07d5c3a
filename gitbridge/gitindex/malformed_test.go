package gitindex

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An item is one entry of an index made by hand.
type item struct {
	path  string
	mode  uint32
	flags uint16 // without the length
	more  uint16 // extended flags
}

// build makes an index of version 3 with a right checksum.
func build(items []item, extensions ...string) []byte {
	p := []byte("DIRC\x00\x00\x00\x03")
	p = binary.BigEndian.AppendUint32(p, uint32(len(items)))
	for _, it := range items {
		start := len(p)
		p = append(p, make([]byte, 24)...)
		if it.mode == 0 {
			it.mode = 0100644
		}
		p = binary.BigEndian.AppendUint32(p, it.mode)
		p = append(p, make([]byte, 12)...)
		p = append(p, bytes.Repeat([]byte{7}, 20)...)
		if it.more != 0 {
			it.flags |= flagExtended
		}
		p = binary.BigEndian.AppendUint16(p, it.flags|uint16(min(len(it.path), flagLength)))
		if it.more != 0 {
			p = binary.BigEndian.AppendUint16(p, it.more)
		}
		p = append(p, it.path...)
		p = append(p, make([]byte, 8-(len(p)-start)%8)...)
	}
	for _, e := range extensions {
		p = append(p, e[:4]...)
		p = binary.BigEndian.AppendUint32(p, uint32(len(e)-4))
		p = append(p, e[4:]...)
	}
	sum := sha1.Sum(p)
	return append(p, sum[:]...)
}

func TestBrokenIndexesAreRefused(t *testing.T) {
	paths := func(p ...string) (items []item) {
		for _, s := range p {
			items = append(items, item{path: s})
		}
		return items
	}
	for _, c := range []struct {
		what string
		data []byte
		want error
	}{
		{"sound", build(paths("a", "b/c", "b.c")[:2]), nil},
		{"no bytes", nil, ErrMalformed},
		{"out of order", build(paths("b", "a")), ErrMalformed},
		{"twice", build(paths("a", "a")), nil}, // git writes such ones, see the test of that
		{"twice, with two modes", build([]item{{path: "a"}, {path: "a", mode: 0100755}}), ErrMalformed},
		{"twice, with other marks", build([]item{{path: "a", more: extendedSkipWorktree}, {path: "a", more: extendedIntentToAdd}}), ErrMalformed},
		{"twice, with marks unheard of", build([]item{{path: "a", more: extendedSkipWorktree}, {path: "a", more: extendedSkipWorktree | 1}}), ErrMalformed},
		{"stages out of order", build([]item{{path: "a", flags: 2 << 12}, {path: "a", flags: 1 << 12}}), ErrMalformed},
		{"merged and unmerged", build([]item{{path: "a"}, {path: "a", flags: 1 << 12}}), ErrMalformed},
		{"two stages", build([]item{{path: "a", flags: 1 << 12}, {path: "a", flags: 3 << 12}}), nil},
		{"no path", build(paths("")), ErrMalformed},
		{"absolute", build(paths("/a")), ErrMalformed},
		{"empty component", build(paths("a//b")), ErrMalformed},
		{"parent", build(paths("a/../b")), ErrMalformed},
		{"self", build(paths("a/.")), ErrMalformed},
		{"NUL", build(paths("a\x00b")), ErrMalformed},
		{"file with slash", build(paths("a/")), ErrMalformed},
		{"fifo", build([]item{{path: "a", mode: 0010644}}), ErrMalformed},
		{"sparse directory in a full index", build([]item{{path: "a/", mode: 040000}}), ErrMalformed},
		{"sparse directory", build([]item{{path: "a/", mode: 040000}}, "sdir"), nil},
		{"sparse directory with entries", build([]item{{path: "a/", mode: 040000}, {path: "a/b"}}, "sdir"), ErrMalformed},
		{"sparse directory with directories", build([]item{{path: "a/", mode: 040000}, {path: "a/b/c"}}, "sdir"), ErrMalformed},
		{"unknown optional extension", build(paths("a"), "ABCDxyz"), nil},
		{"unknown mandatory extension", build(paths("a"), "abcdxyz"), ErrUnsupported},
		{"version 5", append([]byte("DIRC\x00\x00\x00\x05"), build(nil)[8:]...), ErrUnsupported},
		{"unknown flag", build([]item{{path: "a", more: 1}}), ErrUnsupported},
		{"split without shared file", build(paths("a"), "link"+string(bytes.Repeat([]byte{9}, 20))), ErrUnsupported},
		{"split in name only", build(paths("a"), "link"+string(make([]byte, 20))), nil},
		{"link cut short", build(paths("a"), "link123"), ErrMalformed},
		{"bad cache of trees", build(paths("a"), "TREE\x001 9\n"), nil},
	} {
		_, err := Decode(c.data, nil)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

func TestEveryCutAndFlippedByteIsSeen(t *testing.T) {
	whole := build([]item{{path: "a"}, {path: "b/c", more: extendedSkipWorktree}, {path: "b/d"}}, "TREE\x00-1 0\n")
	for i := range whole {
		if _, err := Decode(whole[:i], nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
		whole[i] ^= 0x40
		if _, err := Decode(whole, nil); err == nil {
			t.Errorf("byte %d flipped: no error", i)
		}
		whole[i] ^= 0x40
	}
}

func TestTheUnsupportedIsNamed(t *testing.T) {
	_, err := Decode(build(nil, "futu"), nil)
	if want := `unsupported index: extension "futu"`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAnotherSharedFileIsRefused(t *testing.T) {
	base := build([]item{{path: "a"}})
	link := "link" + string(base[len(base)-20:])
	opt := &Options{Shared: func(oid.ID) ([]byte, error) { return base, nil }}
	x, err := Decode(build([]item{{path: "b"}}, link), opt)
	if err != nil || x.Len() != 2 {
		t.Fatalf("joined: %v", err)
	}
	base = build([]item{{path: "c"}})
	if _, err := Decode(build([]item{{path: "b"}}, link), opt); !errors.Is(err, ErrMalformed) {
		t.Errorf("another file: %v", err)
	}
	gone := fmt.Errorf("gone")
	opt.Shared = func(oid.ID) ([]byte, error) { return nil, gone }
	if _, err := Decode(build([]item{{path: "b"}}, link), opt); !errors.Is(err, gone) {
		t.Errorf("missing file: %v", err)
	}
}

func TestCompressedPathsCannotExhaustMemory(t *testing.T) {
	// Each entry adds one byte to a path of 30,000, which would make 30 GB of
	// paths of 65 MB of index.
	p := []byte("DIRC\x00\x00\x00\x04")
	p = binary.BigEndian.AppendUint32(p, 2000)
	for i := range 2000 {
		p = append(p, make([]byte, 26)...)
		p = append(p, 0x81, 0xa4)
		p = append(p, make([]byte, 12)...)
		p = append(p, bytes.Repeat([]byte{7}, 22)...)
		p = append(p, 0)
		if i == 0 {
			p = append(p, bytes.Repeat([]byte{'x'}, 30_000)...)
		}
		p = append(p, 'x', 0)
	}
	p = append(p, make([]byte, 20)...)
	if _, err := Decode(p, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("error %v", err)
	}
}
