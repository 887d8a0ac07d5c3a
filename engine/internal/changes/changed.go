package changes

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Changed says what a snapshot changed: how it differs from its base, the
// snapshot at which the files stood before it. It is bounded, whatever changed.
type Changed struct {
	Base    oid.ID // zero: there was none, and the snapshot begins the history
	Known   bool   // what follows is known; else it has to be compared
	Settled bool   // nothing is left to count

	Files   int // files, links and nested repositories that differ
	Dirs    int // directories that are there on one side only, or have other permissions
	Added   int // lines of the files whose lines were counted
	Removed int
	Opaque  int // files of which the lines were not counted: binary ones, large ones, or all if there are many

	// Names has every changed path, sorted. Coarse: they are too many, and these
	// are directories instead, or names beside them, in which everything that
	// changed lies; none, if even those were too many.
	Names  []Name
	Coarse bool
}

// A Name is a path that a snapshot changed or, of a coarse [Changed], a
// directory in which it did.
type Name struct {
	Path    string // bytes as on disk
	Status  byte   // git's letter: A, D, M, T; 0: a directory in which something changed
	From    string // of what came: what it was called before, with the same content
	Dir     bool   // the path is, or was, a directory
	Files   int    // of a directory in which something changed: how many
	Counted bool   // its lines were counted
	Added   int
	Removed int
}

// The bounds of a [Changed].
const (
	namesMax = 128
	bytesMax = 6 << 10 // of all names together
)

// sum makes a Changed of the paths that differ from a base, in path order.
func sum(base oid.ID, names []Name) *Changed {
	c := &Changed{Base: base, Known: true}
	size := 0
	for _, n := range names {
		size += len(n.Path)
		switch {
		case n.Dir:
			c.Dirs++
			continue
		case n.Counted:
			c.Added, c.Removed = c.Added+n.Added, c.Removed+n.Removed
		default:
			c.Opaque++
		}
		c.Files++
	}
	if c.Names = names; len(names) > namesMax || size > bytesMax {
		c.Names, c.Coarse = coarse(names), true
	}
	return c
}

// coarse returns directories in which all of the paths lie: as deep as the bounds
// allow.
func coarse(names []Name) (best []Name) {
	for depth := 1; depth <= 16; depth++ {
		var dirs []Name
		size := 0
		for _, n := range names {
			dir := firstParts(n.Path, depth)
			if last := len(dirs) - 1; last < 0 || dirs[last].Path != dir {
				dirs = append(dirs, Name{Path: dir, Dir: dir != n.Path || n.Dir})
				size += len(dir)
			}
			if at := &dirs[len(dirs)-1]; !n.Dir {
				at.Files++
				at.Dir = at.Dir || dir != n.Path
			}
		}
		if len(dirs) > namesMax || size > bytesMax {
			break
		}
		best = dirs
	}
	return best
}

// firstParts returns the first components of a path.
func firstParts(path string, n int) string {
	at := 0
	for range n {
		i := strings.IndexByte(path[at:], '/')
		if i < 0 {
			return path
		}
		at += i + 1
	}
	return path[:at-1]
}

// Touches reports whether something at a path or below it changed, as far as the
// row can tell; sure is false where only the trees can.
func (c *Changed) Touches(path string) (yes, sure bool) {
	if !c.Known {
		return false, false
	}
	for _, n := range c.Names {
		name := n.Path
		if name == path || within(name, path) {
			return true, true // what is coarse counts what changed, and so something did
		}
		if c.Coarse && within(path, name) {
			return false, false
		}
	}
	return false, !c.Coarse || len(c.Names) > 0 || c.Files+c.Dirs == 0
}

// within reports whether a path lies below a directory; "." is above all.
func within(path, dir string) bool {
	return dir == "." || len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

// At returns what changed at a path itself, nil if nothing did. It is not asked of
// one that is coarse.
func (c *Changed) At(path string) *Name {
	i, ok := c.place(path)
	if !ok {
		return nil
	}
	return &c.Names[i]
}

func (c *Changed) place(path string) (int, bool) {
	return slices.BinarySearchFunc(c.Names, path, func(n Name, path string) int { return cmp.Compare(n.Path, path) })
}

// Below returns what changed at a path and below it. It is not asked of one that is
// coarse.
func (c *Changed) Below(path string) *Changed {
	var names []Name
	for _, n := range c.Names {
		if n.Path == path || within(n.Path, path) {
			names = append(names, n)
		}
	}
	out := sum(c.Base, names)
	out.Settled = c.Settled
	return out
}

// Told is a change as people count it: what was renamed is one file, of which no
// line changed, and its old name is not among the names.
func (c *Changed) Told() *Changed {
	old := map[string]bool{}
	for _, n := range c.Names {
		old[n.From] = true
	}
	out := *c
	out.Names = nil
	for _, n := range c.Names {
		if n.From != "" || old[n.Path] && n.Status == 'D' {
			if out.Added, out.Removed = out.Added-n.Added, out.Removed-n.Removed; n.From == "" {
				out.Files--
				continue
			}
			n.Added, n.Removed = 0, 0
		}
		out.Names = append(out.Names, n)
	}
	return &out
}

// Telling returns the names that tell most of a change, at most n: files before
// directories, those of which most lines changed first.
func (c *Changed) Telling(n int) []Name {
	names := slices.Clone(c.Names)
	weight := func(n Name) int { return n.Added + n.Removed + n.Files }
	slices.SortStableFunc(names, func(a, b Name) int {
		if !c.Coarse && a.Dir != b.Dir {
			if a.Dir {
				return 1
			}
			return -1
		}
		return cmp.Compare(weight(b), weight(a))
	})
	return names[:min(n, len(names))]
}

// The flags of a row.
const (
	flagKnown = 1 << iota
	flagSettled
	flagCoarse
)

// The flags of a name.
const (
	flagDir = 1 << iota
	flagCounted
	flagStatus // the letter follows; else it is M
	flagFrom   // at the end follows which name of the row it was called before
)

// rowVersion begins a row. A row of another version is as none: what it says
// can be found out again. One of version 1 says nothing of what was renamed.
const rowVersion = 2

// Encode makes the row of a table.
func (c *Changed) Encode() []byte {
	flags := byte(0)
	for flag, set := range map[byte]bool{flagKnown: c.Known, flagSettled: c.Settled, flagCoarse: c.Coarse} {
		if set {
			flags |= flag
		}
	}
	base := c.Base.Bytes()
	if c.Base.IsZero() {
		base = nil
	}
	row := append([]byte{rowVersion, flags, byte(len(base))}, base...)
	if !c.Known {
		return row
	}
	for _, n := range []int{c.Files, c.Dirs, c.Added, c.Removed, c.Opaque, len(c.Names)} {
		row = binary.AppendUvarint(row, uint64(n))
	}
	before := ""
	for _, n := range c.Names {
		row, before = c.append(row, n, before), n.Path
	}
	return row
}

// append writes a name, without what it has in common with the one before.
func (c *Changed) append(row []byte, n Name, before string) []byte {
	path, same := n.Path, 0
	for same < len(path) && same < len(before) && path[same] == before[same] {
		same++
	}
	flags := byte(0)
	old, renamed := c.place(n.From)
	for flag, set := range map[byte]bool{flagDir: n.Dir, flagCounted: n.Counted, flagStatus: n.Status != 'M', flagFrom: renamed} {
		if set {
			flags |= flag
		}
	}
	row = append(row, flags)
	if n.Status != 'M' {
		row = append(row, n.Status)
	}
	row = binary.AppendUvarint(row, uint64(same))
	row = binary.AppendUvarint(row, uint64(len(path)-same))
	row = append(row, path[same:]...)
	if n.Status == 0 {
		row = binary.AppendUvarint(row, uint64(n.Files))
	}
	if n.Counted {
		row = binary.AppendUvarint(row, uint64(n.Added))
		row = binary.AppendUvarint(row, uint64(n.Removed))
	}
	if renamed {
		row = binary.AppendUvarint(row, uint64(old))
	}
	return row
}

var errRow = errors.New("malformed row of what a snapshot changed")

// Decode reads a row and checks it.
func Decode(row []byte) (*Changed, error) {
	r := rowReader{rest: row}
	c := new(Changed)
	version, flags := r.byte(), r.byte()
	base := r.bytes(int(r.byte()))
	if r.bad || version == 0 || version > rowVersion {
		return nil, errRow
	}
	c.Known, c.Settled, c.Coarse = flags&flagKnown != 0, flags&flagSettled != 0, flags&flagCoarse != 0
	if len(base) > 0 {
		var err error
		if c.Base, err = oid.FromBytes(base); err != nil {
			return nil, errRow
		}
	}
	if !c.Known {
		return c, nil
	}
	names := 0
	for _, n := range []*int{&c.Files, &c.Dirs, &c.Added, &c.Removed, &c.Opaque, &names} {
		*n = r.number()
	}
	if names > namesMax {
		return nil, errRow
	}
	before, old := "", map[int]int{}
	for i := range names {
		n, from := r.name(before)
		if c.Names, before = append(c.Names, n), n.Path; r.bad || from >= names {
			return nil, errRow
		}
		if from >= 0 {
			old[i] = from
		}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errRow
	}
	for i, from := range old {
		c.Names[i].From = c.Names[from].Path
	}
	if version == 1 && c.has('A') && c.has('D') {
		c.Settled = false // something may have been renamed
	}
	return c, nil
}

func (c *Changed) has(status byte) bool {
	return slices.ContainsFunc(c.Names, func(n Name) bool { return n.Status == status })
}

// A rowReader reads the parts of a row. What is not there makes it bad.
type rowReader struct {
	rest []byte
	bad  bool
}

func (r *rowReader) bytes(n int) (out []byte) {
	if n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	out, r.rest = r.rest[:n], r.rest[n:]
	return out
}

func (r *rowReader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *rowReader) number() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<40 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// name reads a name, and the place of what it was called before, -1 for none.
func (r *rowReader) name(before string) (n Name, from int) {
	flags := r.byte()
	n.Dir, n.Counted, n.Status = flags&flagDir != 0, flags&flagCounted != 0, 'M'
	if flags&flagStatus != 0 {
		n.Status = r.byte()
	}
	same := r.number()
	rest := r.bytes(r.number())
	if same > len(before) {
		r.bad = true
		return n, -1
	}
	n.Path = before[:same] + string(rest)
	if n.Status == 0 {
		n.Files = r.number()
	}
	if n.Counted {
		n.Added, n.Removed = r.number(), r.number()
	}
	if flags&flagFrom == 0 {
		return n, -1
	}
	return n, r.number()
}
