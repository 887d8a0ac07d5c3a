package gitref

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// packedBytesMax bounds packed-refs: some three million refs.
const packedBytesMax = 256 << 20

// packedRefs is the content of packed-refs: a line for each ref, "id name",
// that may be followed by "^id", what a tag stands for; "#" begins a comment.
type packedRefs struct {
	alg  oid.Algorithm
	text []byte
}

func (s *Store) readPacked() (packedRefs, error) {
	text, err := readFile(filepath.Join(s.commonDir, "packed-refs"), packedBytesMax)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return packedRefs{s.alg, text}, err
}

// below reports whether a ref's name begins with a prefix.
func (p packedRefs) below(prefix string) bool {
	for name := range p.all {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// all yields every line that names a ref, with the digits of its id.
func (p packedRefs) all(yield func(name string, digits string) bool) {
	for line := range bytes.SplitSeq(p.text, []byte("\n")) {
		if len(line) == 0 || line[0] == '#' || line[0] == '^' {
			continue
		}
		digits, name, _ := strings.Cut(string(line), " ")
		if !yield(strings.TrimSuffix(name, "\r"), digits) {
			return
		}
	}
}

// List returns the refs whose names begin with a prefix that ends in a slash,
// by name. Refs that are broken are left out and named by the error, which is
// ErrCorrupt; the others are good all the same.
func (s *Store) List(prefix string) ([]Ref, error) {
	if !ValidName(strings.TrimSuffix(prefix, "/")) && prefix != "refs/" {
		return nil, fmt.Errorf("%q: %w", prefix, ErrInvalidName)
	}
	// Loose first: a ref that is packed between the two steps is in both.
	names := map[string]bool{}
	for _, dir := range slices.Compact([]string{s.gitDir, s.commonDir}) {
		if err := s.listLoose(dir, strings.TrimSuffix(prefix, "/"), names); err != nil {
			return nil, err
		}
	}
	packed, err := s.readPacked()
	if err != nil {
		return nil, err
	}
	var refs []Ref
	var broken []error
	for name, digits := range packed.all {
		if names[name] || !strings.HasPrefix(name, prefix) || !ValidName(name) {
			continue
		}
		id, err := s.packedID(name, digits)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		refs = append(refs, Ref{Name: name, ID: id})
	}
	for name := range names {
		ref, err := s.Read(name)
		switch {
		case err == nil:
			refs = append(refs, ref)
		case errors.Is(err, ErrCorrupt), errors.Is(err, ErrInvalidName):
			broken = append(broken, fmt.Errorf("%w: %w", ErrCorrupt, err))
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs, errors.Join(broken...)
}

// packedID reads the id of a line of packed-refs.
func (s *Store) packedID(name, digits string) (oid.ID, error) {
	id, err := oid.Parse(digits)
	if err != nil || id.IsZero() || len(digits) != 2*s.alg.Size() {
		return oid.ID{}, fmt.Errorf("%s: %w: in packed-refs", name, ErrCorrupt)
	}
	return id, nil
}

// listLoose adds the names of the refs that are files below a directory.
func (s *Store) listLoose(root, prefix string, names map[string]bool) error {
	list, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(prefix)))
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		name := prefix + "/" + e.Name()
		switch {
		case !ValidName(name):
		case e.IsDir():
			if err := s.listLoose(root, name, names); err != nil {
				return err
			}
		case s.dir(name) == root:
			names[name] = true
		}
	}
	return nil
}
