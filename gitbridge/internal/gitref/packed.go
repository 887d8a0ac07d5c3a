package gitref

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// packedBytesMax bounds packed-refs: some three million refs.
const packedBytesMax = 256 << 20

// lineBytesMax is more than the line of any ref has.
const lineBytesMax = 8 << 10

// A packedLine is a line of packed-refs that names a ref: "id name". It may be followed
// by "^id", what a tag stands for; "#" begins a comment.
type packedLine struct {
	at           int64
	digits, name string
}

// packedLines yields the lines of refs from a place on, which need not begin a line.
func packedLines(f io.ReaderAt, at, size int64) iter.Seq2[packedLine, error] {
	return func(yield func(packedLine, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(f, at, size-at), lineBytesMax)
		for {
			text, err := in.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				err = fmt.Errorf("packed-refs: %w: a line is too long", ErrCorrupt)
			}
			if err != nil && err != io.EOF {
				yield(packedLine{}, err)
				return
			}
			digits, name, _ := strings.Cut(strings.TrimRight(string(text), "\r\n"), " ")
			if digits != "" && digits[0] != '#' && digits[0] != '^' && !yield(packedLine{at, digits, name}, nil) || err != nil {
				return
			}
			at += int64(len(text))
		}
	}
}

// packedRefs opens packed-refs; there is no file where it is not there.
func (s *Store) packedRefs() (f *os.File, size int64, err error) {
	f, err = regular.Open(filepath.Join(s.commonDir, "packed-refs"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, 0, nil
	case errors.Is(err, regular.ErrIrregular), errors.Is(err, syscall.EISDIR):
		return nil, 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case err != nil:
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() > packedBytesMax {
		err = fmt.Errorf("packed-refs: %w: too large to be one", ErrCorrupt)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// packed looks a ref up in packed-refs, zero where there is none.
func (s *Store) packed(name string) (oid.ID, error) {
	f, size, err := s.packedRefs()
	if f == nil {
		return oid.ID{}, err
	}
	defer f.Close()
	digits, err := lookUp(f, size, name)
	if err != nil || digits == "" {
		return oid.ID{}, err
	}
	return s.packedID(name, digits)
}

// lookUp returns the digits of a ref's line, "" where there is none. Some repositories
// have hundreds of thousands of refs: a file whose first line says that it is sorted, as
// git's are, is searched by halves (git-pack-refs).
func lookUp(f io.ReaderAt, size int64, name string) (string, error) {
	const few = 32 << 10 // bytes that are read from one end to the other
	head := make([]byte, 256)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	first, _, _ := strings.Cut(string(head[:n]), "\n")
	traits, sorted := strings.CutPrefix(first, "# pack-refs with:")
	sorted = sorted && strings.Contains(traits+" ", " sorted ")
	from, to := int64(0), size // where the line may begin
	for sorted && to-from > few {
		half, before := from+(to-from)/2, true
		for l, err := range packedLines(f, half, size) {
			if err != nil {
				return "", err
			}
			if l.at == half { // most likely the rest of one
				continue
			}
			if before = l.at > to || l.name > name; !before {
				from = l.at
			}
			break
		}
		if before {
			to = half
		}
	}
	for l, err := range packedLines(f, from, size) {
		if err != nil || sorted && l.at > to {
			return "", err
		}
		if l.name == name {
			return l.digits, nil
		}
	}
	return "", nil
}

// below reports whether a ref that is packed has a name that begins with a prefix.
func (s *Store) below(prefix string) (bool, error) {
	f, size, err := s.packedRefs()
	if f == nil {
		return false, err
	}
	defer f.Close()
	for l, err := range packedLines(f, 0, size) {
		if err != nil || strings.HasPrefix(l.name, prefix) {
			return err == nil, err
		}
	}
	return false, nil
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
	refs, broken, err := s.listPacked(prefix, names)
	if err != nil {
		return nil, err
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

// listPacked returns the packed refs below a prefix but those that have files.
func (s *Store) listPacked(prefix string, files map[string]bool) (refs []Ref, broken []error, err error) {
	f, size, err := s.packedRefs()
	if f == nil {
		return nil, nil, err
	}
	defer f.Close()
	for l, err := range packedLines(f, 0, size) {
		if err != nil {
			return nil, nil, err
		}
		if files[l.name] || !strings.HasPrefix(l.name, prefix) || !ValidName(l.name) {
			continue
		}
		if id, err := s.packedID(l.name, l.digits); err != nil {
			broken = append(broken, err)
		} else {
			refs = append(refs, Ref{Name: l.name, ID: id})
		}
	}
	return refs, broken, nil
}

// packedID reads the id of a line of packed-refs.
func (s *Store) packedID(name, digits string) (oid.ID, error) {
	id, err := s.alg.Parse(digits)
	if err != nil {
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
