// Package oid names things: it turns bytes into object ids.
//
// An [ID] is the hash of a framed payload, exactly as git frames its objects
// ("blob 12\x00" and then the bytes). In a repository the algorithm is the
// repository's own, so an ID of a file, a directory or a snapshot is the id
// git would give it. Without git it is BLAKE3-256 over the same encodings.
// The package knows no file, no store and no other package of this module.
package oid

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"sync"

	"github.com/zeebo/blake3"
)

// ErrInvalid is reported for bytes or text that cannot be an object id.
var ErrInvalid = errors.New("not an object id")

// An Algorithm is a hash function for object ids. The zero value is invalid.
type Algorithm uint8

// The algorithms. Their numbers are written into stores and never change.
const (
	SHA1   Algorithm = 1
	SHA256 Algorithm = 2
	BLAKE3 Algorithm = 3
)

var names = map[Algorithm]string{SHA1: "sha1", SHA256: "sha256", BLAKE3: "blake3"}

// String returns the name git's extensions.objectFormat uses, or "blake3".
func (a Algorithm) String() string {
	if s, ok := names[a]; ok {
		return s
	}
	return "algorithm " + strconv.Itoa(int(a))
}

// ParseAlgorithm is the inverse of [Algorithm.String].
func ParseAlgorithm(s string) (Algorithm, error) {
	for a, name := range names {
		if name == s {
			return a, nil
		}
	}
	return 0, fmt.Errorf("unknown hash algorithm %q", s)
}

// Size returns the number of bytes of an id.
func (a Algorithm) Size() int {
	if a == SHA1 {
		return sha1.Size
	}
	return sha256.Size
}

// Hash returns the hash by itself, which git's own files end in.
func (a Algorithm) Hash() hash.Hash {
	switch a {
	case SHA1:
		return sha1.New()
	case SHA256:
		return sha256.New()
	case BLAKE3:
		return blake3.New()
	}
	panic("oid: invalid algorithm")
}

// A Kind is the type of an object, with git's numbers.
type Kind uint8

// The kinds of objects.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
	Tag    Kind = 4
)

var kinds = [...]string{"", "commit", "tree", "blob", "tag"}

// String returns git's word for the kind, or "" for an invalid one.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return ""
}

// ParseKind is the inverse of [Kind.String].
func ParseKind(s string) (Kind, error) {
	for k, name := range kinds {
		if name == s && s != "" {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown object type %q", s)
}

// An ID names an object. The zero ID names nothing; IDs are comparable with ==.
type ID struct {
	size  uint8
	bytes [32]byte
}

// FromBytes makes an ID of 20 or 32 bytes. Git's null id (all zeros) becomes
// the zero ID.
func FromBytes(p []byte) (ID, error) {
	var id ID
	if len(p) != sha1.Size && len(p) != sha256.Size {
		return id, ErrInvalid
	}
	copy(id.bytes[:], p)
	if id.bytes != [32]byte{} {
		id.size = uint8(len(p))
	}
	return id, nil
}

// Parse makes an ID of 40 or 64 hexadecimal digits.
func Parse(s string) (ID, error) {
	p, err := hex.DecodeString(s)
	if err != nil {
		return ID{}, fmt.Errorf("%q: %w", s, ErrInvalid)
	}
	id, err := FromBytes(p)
	if err != nil {
		return ID{}, fmt.Errorf("%q: %w", s, err)
	}
	return id, nil
}

// Parse makes an ID of the algorithm's hexadecimal digits that names something.
func (a Algorithm) Parse(s string) (ID, error) {
	id, err := Parse(s)
	if err == nil && id.Len() != a.Size() {
		err = fmt.Errorf("%q: %w", s, ErrInvalid)
	}
	return id, err
}

// Digits returns an ID in hexadecimal, the zero ID as git's null id.
func (a Algorithm) Digits(id ID) string {
	if id.IsZero() {
		return strings.Repeat("0", 2*a.Size())
	}
	return id.String()
}

// IsZero reports whether the ID names nothing.
func (id ID) IsZero() bool { return id.size == 0 }

// Len returns the number of bytes of the ID, 0 for the zero ID.
func (id ID) Len() int { return int(id.size) }

// Bytes returns the raw id, nil for the zero ID. The caller owns the slice.
func (id ID) Bytes() []byte { return append([]byte(nil), id.bytes[:id.size]...) }

// Append appends the raw id to p.
func (id ID) Append(p []byte) []byte { return append(p, id.bytes[:id.size]...) }

// Compare orders IDs of one algorithm by their bytes.
func (id ID) Compare(other ID) int {
	return bytes.Compare(id.bytes[:id.size], other.bytes[:other.size])
}

// String returns the id in lower-case hexadecimal, "" for the zero ID.
func (id ID) String() string { return hex.EncodeToString(id.bytes[:id.size]) }

// Short returns as much of the hexadecimal digits as a person reads and types.
func (id ID) Short() string {
	s := id.String()
	return s[:min(len(s), 12)]
}

// MarshalText encodes the id as hexadecimal digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts what [ID.MarshalText] gives, and the empty text.
func (id *ID) UnmarshalText(p []byte) (err error) {
	if len(p) == 0 {
		*id = ID{}
		return nil
	}
	*id, err = Parse(string(p))
	return err
}

// Sum returns the id of a whole object.
func (a Algorithm) Sum(kind Kind, payload []byte) ID {
	h, _ := idle[a].Get().(*Hasher)
	if h == nil {
		h = &Hasher{a.Hash()}
	}
	defer idle[a].Put(h)
	h.h.Reset()
	h.begin(kind, int64(len(payload)))
	h.Write(payload)
	return h.Sum()
}

// idle are hashers that are used again: one of BLAKE3 takes ten kilobytes.
var idle [BLAKE3 + 1]sync.Pool

// A Hasher computes the id of an object whose payload comes in pieces. It is
// for one goroutine.
type Hasher struct {
	h hash.Hash
}

// NewHasher begins an object of exactly size bytes; the caller must write that
// many, because the size is part of what is hashed.
func (a Algorithm) NewHasher(kind Kind, size int64) *Hasher {
	h := &Hasher{a.Hash()}
	h.begin(kind, size)
	return h
}

// begin writes what is before the payload.
func (h *Hasher) begin(kind Kind, size int64) {
	var frame [32]byte
	p := append(frame[:0], kind.String()...)
	p = append(p, ' ')
	p = strconv.AppendInt(p, size, 10)
	h.h.Write(append(p, 0))
}

// Write adds payload bytes; it never fails.
func (h *Hasher) Write(p []byte) (int, error) { return h.h.Write(p) }

// Sum returns the id of what was written so far.
func (h *Hasher) Sum() ID {
	var buf [32]byte
	id, err := FromBytes(h.h.Sum(buf[:0]))
	if err != nil {
		panic("oid: hash of an impossible size")
	}
	return id
}
