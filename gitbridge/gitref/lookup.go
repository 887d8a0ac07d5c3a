package gitref

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

const (
	// lookBytes is read at once where a line is looked for: no name is as long.
	lookBytes = 8 << 10
	// scanBytes are read from one end to the other.
	scanBytes = 4 * lookBytes
)

// packed looks a ref up in packed-refs, zero where there is none. Some
// repositories have hundreds of thousands of refs: a file whose first line says
// that it is sorted, as git's are, is searched by halves (git-pack-refs).
func (s *Store) packed(name string) (oid.ID, error) {
	f, err := regular.Open(filepath.Join(s.commonDir, "packed-refs"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return oid.ID{}, nil
	case errors.Is(err, regular.ErrIrregular), errors.Is(err, syscall.EISDIR):
		return oid.ID{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case err != nil:
		return oid.ID{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return oid.ID{}, err
	case st.Size() > packedBytesMax:
		return oid.ID{}, fmt.Errorf("packed-refs: %w: too large to be one", ErrCorrupt)
	}
	digits, err := lookUp(f, st.Size(), name)
	if err != nil || digits == "" {
		return oid.ID{}, err
	}
	return s.packedID(name, digits)
}

// lookUp returns the digits of a ref's line, "" where there is none.
func lookUp(f io.ReaderAt, size int64, name string) (string, error) {
	from, to := int64(0), size
	head, err := lineAfter(f, 0, size)
	if err != nil {
		return "", err
	}
	if first, rest, _ := strings.Cut(head.text, ":"); first == "# pack-refs with" && strings.Contains(rest+" ", " sorted ") {
		from = head.next
		for to-from > scanBytes {
			half := from + (to-from)/2
			at, err := refAfter(f, half, to)
			if err != nil {
				return "", err
			}
			switch {
			case at.text == "" || at.name() > name:
				to = half
			default:
				from = at.from
			}
		}
		return scanPart(f, from, min(to+scanBytes, size), name)
	}
	return scan(io.NewSectionReader(f, from, to-from), name)
}

// scanPart reads the lines of a part that begins with a line. One that is cut
// off by its end, and not by the file's, does not count.
func scanPart(f io.ReaderAt, from, to int64, name string) (string, error) {
	part := make([]byte, to-from+1)
	n, err := f.ReadAt(part, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if n == len(part) {
		n = bytes.LastIndexByte(part, '\n') + 1
	}
	return scan(bytes.NewReader(part[:n]), name)
}

// A line of packed-refs, without its end.
type line struct {
	text       string
	from, next int64
}

// name is what stands behind the id.
func (l line) name() string {
	_, name, _ := strings.Cut(l.text, " ")
	return strings.TrimSuffix(name, "\r")
}

// lineAfter returns the line that begins at a place.
func lineAfter(f io.ReaderAt, at, end int64) (line, error) {
	buf := make([]byte, min(lookBytes, end-at))
	n, err := f.ReadAt(buf, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return line{}, err
	}
	text, _, found := bytes.Cut(buf[:n], []byte("\n"))
	next := at + int64(len(text))
	if found {
		next++
	}
	return line{string(text), at, next}, nil
}

// refAfter returns the first line of a ref that begins behind a place and before
// the end; without a text if there is none.
func refAfter(f io.ReaderAt, at, end int64) (line, error) {
	l, err := lineAfter(f, at, end) // most likely the rest of one
	for err == nil && l.next < end {
		if l, err = lineAfter(f, l.next, end); err == nil && l.text != "" && l.text[0] != '^' && l.text[0] != '#' {
			return l, nil
		}
	}
	return line{}, err
}

// scan reads lines from one end to the other.
func scan(r io.Reader, name string) (string, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, lookBytes), scanBytes)
	for in.Scan() {
		digits, found, _ := strings.Cut(in.Text(), " ")
		if strings.TrimSuffix(found, "\r") == name && digits != "#" {
			return digits, nil
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return "", fmt.Errorf("packed-refs: %w: a line is too long", ErrCorrupt)
	}
	return "", in.Err()
}
