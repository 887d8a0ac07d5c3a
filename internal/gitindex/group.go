package gitindex

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A grouper sorts the records of an index, which are ordered by path, into
// directories. Everything in a directory and below it is one run of records,
// so a stack of open directories is all it needs.
type grouper struct {
	index   *Index
	files   [2]*file // by record.base
	records []record
	open    []uint32 // from the root to the directory of the last record
	counts  []int    // entries by directory
	block   []Directory
}

func (g *grouper) group() error {
	x := g.index
	g.add("", 0)
	g.open = append(g.open, 0)
	for i := range g.records {
		if err := g.place(i); err != nil {
			return err
		}
	}
	x.length = len(g.records)
	x.byPath = make(map[string]*Directory, len(x.dirs))
	slab := make([]Entry, len(g.records))
	for i, d := range x.dirs {
		x.byPath[d.path] = d
		d.Entries, slab = slab[:g.counts[i]:g.counts[i]], slab[g.counts[i]:]
	}
	if err := halves(len(g.records), func(i int) error { return g.fill(&g.records[i]) }); err != nil {
		return err
	}
	if err := g.finish(); err != nil {
		return err
	}
	return halves(len(x.dirs), func(i int) error {
		x.dirs[i].Digest = x.dirs[i].digest()
		return nil
	})
}

// halves does something n times, half of it beside the other half if it is
// much, and returns the first error.
func halves(n int, do func(i int) error) error {
	run := func(from, to int) error {
		for i := from; i < to; i++ {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	if n < 1000 {
		return run(0, n)
	}
	second := make(chan error, 1)
	go func() { second <- run(n/2, n) }()
	err := run(0, n/2)
	return cmp.Or(err, <-second)
}

// add makes a directory known and returns its number. Directories are
// allocated in blocks, because they are many and must not move.
func (g *grouper) add(path string, parent uint32) uint32 {
	if len(g.block) == 0 {
		g.block = make([]Directory, 256)
	}
	d := &g.block[0]
	g.block = g.block[1:]
	d.path, d.parent = path, parent
	g.index.dirs = append(g.index.dirs, d)
	g.counts = append(g.counts, 0)
	return uint32(len(g.index.dirs) - 1)
}

// place checks that a record follows its predecessor and finds its directory.
func (g *grouper) place(i int) error {
	r := &g.records[i]
	if i > 0 {
		last := &g.records[i-1]
		if last.path > r.path || last.path == r.path && !g.laterStage(last, r) {
			return fmt.Errorf("%w: %q after %q", ErrMalformed, r.path, last.path)
		}
	}
	at := g.enter(r.path) // of the first component below the open directory
	for n := strings.IndexByte(r.path[at:], '/'); n >= 0; n = strings.IndexByte(r.path[at:], '/') {
		name := r.path[at : at+n]
		if !validName(name) {
			return fmt.Errorf("%w: path %q", ErrMalformed, r.path)
		}
		parent := g.open[len(g.open)-1]
		g.open = append(g.open, g.add(r.path[:at+n], parent))
		g.index.dirs[parent].Dirs = append(g.index.dirs[parent].Dirs, name)
		at += n + 1
	}
	r.dir = g.open[len(g.open)-1]
	if name := r.path[at:]; validName(name) {
		r.rank = uint32(g.counts[r.dir])
		g.counts[r.dir]++
	} else if name != "" || at == 0 {
		return fmt.Errorf("%w: path %q", ErrMalformed, r.path)
	}
	return nil
}

// enter closes the directories that a path does not lie in and returns where
// the rest of the path begins.
func (g *grouper) enter(path string) int {
	dirs := g.index.dirs
	for top := len(g.open) - 1; top > 0; top-- {
		p := dirs[g.open[top]].path
		if len(path) > len(p) && path[len(p)] == '/' && path[:len(p)] == p {
			g.open = g.open[:top+1]
			return len(p) + 1
		}
	}
	g.open = g.open[:1]
	return 0
}

func (g *grouper) laterStage(a, b *record) bool {
	f := binary.BigEndian.Uint16
	x, y := f(g.flags(a))&flagStages, f(g.flags(b))&flagStages
	return x > 0 && y > x
}

func (g *grouper) flags(r *record) []byte {
	f := g.files[r.base]
	return f.data[int(r.at)+statSize+f.hash:]
}

func validName(s string) bool {
	return s != "" && s != "." && s != ".." && strings.IndexByte(s, 0) < 0
}

// fill decodes an entry into its place.
func (g *grouper) fill(r *record) error {
	f := g.files[r.base]
	p := f.data[r.at:]
	d := g.index.dirs[r.dir]
	id, err := oid.FromBytes(p[statSize : statSize+f.hash])
	if err != nil {
		return err
	}
	if strings.HasSuffix(r.path, "/") {
		return g.collapse(r, id)
	}
	e := &d.Entries[r.rank]
	e.Mode, e.ID = tree.Mode(binary.BigEndian.Uint32(p[24:])), id
	switch e.Mode.Type() {
	case tree.File, tree.Symlink, tree.Nested:
	default:
		return fmt.Errorf("%w: %q has mode %o", ErrMalformed, r.path, e.Mode)
	}
	e.Name = r.path[len(d.path):]
	if d.path != "" {
		e.Name = e.Name[1:]
	}
	e.Stat.read(p)
	if err := e.mark(p[statSize+f.hash:]); err != nil {
		return fmt.Errorf("%w in %q", err, r.path)
	}
	return nil
}

// collapse reads the entry that stands for a whole directory. Beside "link" git
// leaves out the extension "sdir" that announces such entries.
func (g *grouper) collapse(r *record, id oid.ID) error {
	mode := tree.Mode(binary.BigEndian.Uint32(g.files[r.base].data[r.at+24:]))
	stage := binary.BigEndian.Uint16(g.flags(r)) & flagStages
	if !g.index.Sparse && g.files[0].link == nil || mode != tree.Dir || stage != 0 || id.IsZero() {
		return fmt.Errorf("%w: %q is no sparse directory", ErrMalformed, r.path)
	}
	g.index.Sparse = true
	g.index.dirs[r.dir].Sparse = id
	return nil
}

func (s *Stat) read(p []byte) {
	p = p[:statSize]
	u32 := binary.BigEndian.Uint32
	s.Ctime = int64(u32(p))*1e9 + int64(u32(p[4:]))
	s.Mtime = int64(u32(p[8:]))*1e9 + int64(u32(p[12:]))
	s.Dev, s.Ino = u32(p[16:]), u32(p[20:])
	s.UID, s.GID, s.Size = u32(p[28:]), u32(p[32:]), u32(p[36:])
}

// mark decodes the flags of an entry.
func (e *Entry) mark(p []byte) error {
	flags := binary.BigEndian.Uint16(p)
	e.Stage = uint8(flags & flagStages >> 12)
	if flags&flagValid != 0 {
		e.Flags |= AssumeValid
	}
	if flags&flagExtended == 0 {
		return nil
	}
	more := binary.BigEndian.Uint16(p[2:])
	if more&^(extendedSkipWorktree|extendedIntentToAdd) != 0 {
		return fmt.Errorf("%w: flags %#x", ErrUnsupported, more)
	}
	if more&extendedSkipWorktree != 0 {
		e.Flags |= SkipWorktree
	}
	if more&extendedIntentToAdd != 0 {
		e.Flags |= IntentToAdd
	}
	return nil
}

// finish completes the directories, children first.
func (g *grouper) finish() error {
	dirs := g.index.dirs
	for i := len(dirs) - 1; i >= 0; i-- {
		d := dirs[i]
		d.total += len(d.Entries)
		if !d.Sparse.IsZero() {
			if d.total > 0 || len(d.Dirs) > 0 {
				return fmt.Errorf("%w: sparse directory %q has entries", ErrMalformed, d.path)
			}
			d.total = 1
		}
		if i > 0 {
			dirs[d.parent].total += d.total
		}
		// The index sorts "a-b/c" before "a/b"; as names "a" comes first.
		slices.Sort(d.Dirs)
	}
	return nil
}

// digest mixes 64-bit words by multiplication (the idea of wyhash), an order
// of magnitude faster than a hash that resists forgery. Every string is
// preceded by its length, so equal sequences of words mean equal listings.
func (d *Directory) digest() uint64 {
	var buf [32]byte
	h := mixer(len(d.Entries))
	for i := range d.Entries {
		e := &d.Entries[i]
		h.word(uint64(e.Mode)<<32 | uint64(e.Flags)<<8 | uint64(e.Stage))
		h.text(e.Name)
		h.id(e.ID, &buf)
	}
	h.word(uint64(len(d.Dirs)))
	for _, name := range d.Dirs {
		h.text(name)
	}
	h.id(d.Sparse, &buf)
	return max(uint64(h), 1)
}

type mixer uint64

func (h *mixer) word(w uint64) {
	hi, lo := bits.Mul64(uint64(*h)^0x9e3779b97f4a7c15, w^0xd1b54a32d192ed03)
	*h = mixer(hi ^ lo)
}

func (h *mixer) text(s string) {
	h.word(uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		// The compiler makes one load of this.
		h.word(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
	}
	var rest uint64
	for i := range len(s) {
		rest |= uint64(s[i]) << (8 * i)
	}
	h.word(rest)
}

func (h *mixer) id(id oid.ID, buf *[32]byte) {
	p := id.Append(buf[:0])
	h.word(uint64(len(p)))
	for ; len(p) >= 8; p = p[8:] {
		h.word(binary.LittleEndian.Uint64(p))
	}
	if len(p) > 0 {
		h.word(uint64(binary.LittleEndian.Uint32(p)))
	}
}
