// Package tree holds the shape of a recorded worktree: entries, their order,
// their encoding, the union of a git tree with its overlay, and differences.
//
// A tree is a directory listing in git's own encoding
// (git-scm.com/docs/git-mktree, "gitformat" of tree objects): in a repository
// it is the git tree, byte for byte. An overlay is a second tree in the same
// encoding that holds only what a git tree cannot; see docs/format.md.
//
// The package is pure: it knows no file system, no store and no git program.
// Everything it decodes is checked.
package tree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ErrMalformed is reported for bytes that are not a tree.
var ErrMalformed = errors.New("malformed tree")

// An Entry is one name of a directory.
type Entry struct {
	Name string // bytes as on disk; never empty, ".", ".." and without "/" and NUL
	Mode Mode
	ID   oid.ID // of a blob (file, symlink), a tree (directory) or a commit (gitlink); zero for Absent
}

// compare gives git's order of entries in a tree: by name, a directory's name
// compared as if it ended in a slash. In git's view a gitlink is no directory.
func compare(a, b *Entry) int {
	n := min(len(a.Name), len(b.Name))
	if c := strings.Compare(a.Name[:n], b.Name[:n]); c != 0 {
		return c
	}
	return cmp.Compare(after(a, n), after(b, n))
}

// after returns the byte of the sort key of e at index n, len(e.Name) >= n.
func after(e *Entry, n int) int {
	switch {
	case len(e.Name) > n:
		return int(e.Name[n])
	case e.Mode.Type() == Dir:
		return '/'
	}
	return -1
}

// Sort puts entries into git's order.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return compare(&a, &b) })
}

// Append appends the encoding of one entry to p. The caller keeps the order.
func Append(p []byte, e Entry, alg oid.Algorithm) []byte {
	p = strconv.AppendUint(p, uint64(e.Mode), 8)
	p = append(p, ' ')
	p = append(p, e.Name...)
	p = append(p, 0)
	if e.ID.IsZero() {
		return append(p, make([]byte, alg.Size())...)
	}
	return e.ID.Append(p)
}

// Encode returns the payload of a tree object with these entries, which must
// be in the order of [Sort].
func Encode(entries []Entry, alg oid.Algorithm) []byte {
	var p []byte
	for _, e := range entries {
		p = Append(p, e, alg)
	}
	return p
}

// Decode reads a tree object's payload. It trusts nothing: modes, names, order
// and duplicates are checked, and what is not right is [ErrMalformed]. Names like
// ".git" are not refused here: that is for whoever writes to a disk. A tree of
// more than [EntriesMax] entries is [ErrLarge].
func Decode(payload []byte, alg oid.Algorithm) ([]Entry, error) {
	entries := make([]Entry, 0, min(len(payload)/(alg.Size()+13)+1, EntriesMax/8)) // enough for names of five letters
	r := read(payload, alg)
	for e := r.next(); e != nil; e = r.next() {
		entries = append(entries, *e)
	}
	if r.err != nil {
		return nil, r.err
	}
	return entries, nil
}

// A reader gives the entries of a payload one after another, and checks what [Decode]
// does. The names are parts of one string.
type reader struct {
	alg     oid.Algorithm
	payload []byte // from the last entry on
	text    string // the same
	size    int    // of the last entry
	n       int    // so many were read
	begun   beginnings
	pair    [2]Entry // the last entry, and the one before
	err     error    // why there is no next one, if the payload has not ended
}

func read(payload []byte, alg oid.Algorithm) *reader {
	return &reader{alg: alg, payload: payload, text: string(payload)}
}

// next returns the next entry, which stays until the one after it is read; nil: there is none.
func (r *reader) next() *Entry {
	r.payload, r.text, r.size = r.payload[r.size:], r.text[r.size:], 0
	if len(r.payload) == 0 || r.err != nil {
		return nil
	}
	if r.n == EntriesMax {
		r.err = fmt.Errorf("%w: a directory of more than %d entries", ErrLarge, EntriesMax)
		return nil
	}
	e, last := &r.pair[r.n%2], &r.pair[(r.n+1)%2]
	size, err := e.decode(r.payload, r.text, r.alg)
	switch {
	case err != nil:
		r.err = err
	case r.n > 0 && compare(last, e) >= 0:
		r.err = fmt.Errorf("%w: %q after %q", ErrMalformed, e.Name, last.Name)
	case !r.begun.add(e, last):
		r.err = fmt.Errorf("%w: %q twice", ErrMalformed, e.Name)
	default:
		r.size = size
		r.n++
		return e
	}
	return nil
}

// apart reads both to their ends, and returns what is not in the other. If one has an error they are not complete.
func apart(x, y *reader) (a, b []Entry) {
	e, f := x.next(), y.next()
	for e != nil || f != nil {
		order := -1
		if e == nil {
			order = 1
		} else if f != nil {
			order = compare(e, f)
		}
		switch {
		case order == 0 && *e == *f:
			e, f = x.next(), y.next()
		case order <= 0:
			a, e = append(a, *e), x.next()
		default:
			b, f = append(b, *f), y.next()
		}
	}
	return a, b
}

// beginnings are those names of a tree, each the beginning of the next, with
// which the last entry's name begins. Between a file and a directory of the same
// name may lie "name.txt", say, for a directory sorts as if its name ended in a
// slash; but whatever lies there begins with the name. Each is a beginning of the last
// entry's name, so its length says which.
type beginnings []int

// add takes the entry after the last one; false: it is a directory, and its name was
// there.
func (b *beginnings) add(e, last *Entry) bool {
	list := *b
	for n := len(list); n > 0 && !strings.HasPrefix(e.Name, last.Name[:list[n-1]]); n-- {
		list = list[:n-1]
	}
	if n := len(list); n > 0 && list[n-1] == len(e.Name) && e.Mode.Type() == Dir {
		return false
	}
	*b = append(list, len(e.Name))
	return true
}

// decode decodes the first entry of p, and returns its bytes. The same bytes as text
// have its name.
func (e *Entry) decode(p []byte, text string, alg oid.Algorithm) (int, error) {
	space := bytes.IndexByte(p, ' ')
	if space < 1 || space > 7 {
		return 0, fmt.Errorf("%w: no mode", ErrMalformed)
	}
	mode := Mode(0)
	for _, c := range p[:space] {
		if c < '0' || c > '7' {
			return 0, fmt.Errorf("%w: mode %q", ErrMalformed, p[:space])
		}
		mode = mode<<3 | Mode(c-'0')
	}
	switch mode.Type() {
	case Dir, File, Symlink, Nested:
	case Absent:
		if mode != 0 {
			return 0, fmt.Errorf("%w: mode %o", ErrMalformed, uint32(mode))
		}
	default:
		return 0, fmt.Errorf("%w: mode %o", ErrMalformed, uint32(mode))
	}
	nul := bytes.IndexByte(p[space:], 0)
	if nul < 0 || len(p) < space+nul+1+alg.Size() {
		return 0, fmt.Errorf("%w: cut short", ErrMalformed)
	}
	name := text[space+1 : space+nul]
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, '/') >= 0 {
		return 0, fmt.Errorf("%w: name %q", ErrMalformed, name)
	}
	end := space + nul + 1 + alg.Size()
	id, err := oid.FromBytes(p[end-alg.Size() : end])
	if err != nil {
		return 0, err
	}
	if id.IsZero() != (mode == 0) {
		return 0, fmt.Errorf("%w: %q has the null id", ErrMalformed, name)
	}
	e.Name, e.Mode, e.ID = name, mode, id
	return end, nil
}
