package gitindex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A grouper checks the records of an index, which are ordered by path, and
// finds the directory of each. Everything in a directory and below it is one
// run of records, so a stack of open directories is all it needs.
type grouper struct {
	index *Index
	open  []uint32 // from the root to the directory of the last record
}

func (g *grouper) group() error {
	x := g.index
	x.dirs = make([]place, 0, 16+len(x.records)/12)
	g.add("", 0)
	g.open = append(g.open, 0)
	last := ""
	for i := range x.records {
		r := &x.records[i]
		common := commonPrefix(last, r.path)
		if i > 0 && x.repeats(&x.records[i-1], r) {
			continue
		}
		if i > 0 && !g.follows(&x.records[i-1], r, common) {
			return fmt.Errorf("%w: %q after %q", ErrMalformed, r.path, last)
		}
		if err := g.place(uint32(i), r, common); err != nil {
			return err
		}
		last = r.path
	}
	return g.finish()
}

// commonPrefix returns how many bytes two strings begin with in common.
func commonPrefix(a, b string) int {
	n, i := min(len(a), len(b)), 0
	for ; i+8 <= n; i += 8 {
		if d := word(a, i) ^ word(b, i); d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// follows reports whether one record may stand behind another.
func (g *grouper) follows(a, b *record, common int) bool {
	switch {
	case common == len(b.path):
		return common == len(a.path) && g.index.laterStage(a, b)
	case common == len(a.path):
		return true
	}
	return a.path[common] < b.path[common]
}

// repeats reports whether a record says once more what the one before it says.
// git 2.39 writes such an index where a sparse one is expanded and written again,
// and goes on with it: the first of them counts.
func (x *Index) repeats(a, b *record) bool {
	if a.path != b.path {
		return false
	}
	said := func(r *record) (mode, rest []byte) {
		f := x.files[r.base]
		p := f.data[r.at:]
		end := statSize + f.hash + 2 // the id, and flags with the stage
		if binary.BigEndian.Uint16(x.flags(r))&flagExtended != 0 {
			end += 2
		}
		return p[24:28], p[statSize:end]
	}
	modeA, restA := said(a)
	modeB, restB := said(b)
	return bytes.Equal(modeA, modeB) && bytes.Equal(restA, restB)
}

// add makes a directory known and returns its number.
func (g *grouper) add(path string, parent uint32) uint32 {
	x := g.index
	x.dirs = append(x.dirs, place{path: path, parent: parent, first: -1, last: -1})
	return uint32(len(x.dirs) - 1)
}

// place finds the directory of the i-th record, of which the first bytes are
// those of its predecessor, and checks the record.
func (g *grouper) place(i uint32, r *record, common int) error {
	x := g.index
	// The predecessor lies in every open directory. This one does where they
	// have the directory's path and the slash behind it in common.
	top := len(g.open) - 1
	for top > 0 && common <= len(x.dirs[g.open[top]].path) {
		top--
	}
	g.open = g.open[:top+1]
	at := 0 // of the first component below the open directory
	if top > 0 {
		at = len(x.dirs[g.open[top]].path) + 1
	}
	for n := strings.IndexByte(r.path[at:], '/'); n >= 0; n = strings.IndexByte(r.path[at:], '/') {
		if !validName(r.path[at : at+n]) {
			return fmt.Errorf("%w: path %q", ErrMalformed, r.path)
		}
		parent := g.open[len(g.open)-1]
		x.dirs[parent].kids++
		g.open = append(g.open, g.add(r.path[:at+n], parent))
		at += n + 1
	}
	dir := &x.dirs[g.open[len(g.open)-1]]
	if at == len(r.path) && at > 0 {
		return x.collapse(r, dir)
	}
	if !validName(r.path[at:]) {
		return fmt.Errorf("%w: path %q", ErrMalformed, r.path)
	}
	x.take(i, dir)
	return x.check(r)
}

// take adds a record to those of a directory.
func (x *Index) take(i uint32, dir *place) {
	dir.count++
	if dir.last >= 0 && x.runs[dir.last].to == i {
		x.runs[dir.last].to++
		return
	}
	n := int32(len(x.runs))
	x.runs = append(x.runs, run{i, i + 1, -1})
	if dir.last >= 0 {
		x.runs[dir.last].next = n
	} else {
		dir.first = n
	}
	dir.last = n
}

func (x *Index) laterStage(a, b *record) bool {
	f := binary.BigEndian.Uint16
	s, t := f(x.flags(a))&flagStages, f(x.flags(b))&flagStages
	return s > 0 && t > s
}

func (x *Index) flags(r *record) []byte {
	f := x.files[r.base]
	return f.data[int(r.at)+statSize+f.hash:]
}

func validName(s string) bool {
	if s == "" || s[0] == '.' && (s == "." || s == "..") {
		return false
	}
	return strings.IndexByte(s, 0) < 0
}

// collapse reads the entry that stands for a whole directory. Beside "link" git
// leaves out the extension "sdir" that announces such entries.
func (x *Index) collapse(r *record, dir *place) error {
	f := x.files[r.base]
	p := f.data[r.at:]
	id, err := oid.FromBytes(p[statSize : statSize+f.hash])
	if err != nil {
		return err
	}
	mode := tree.Mode(binary.BigEndian.Uint32(p[24:]))
	stage := binary.BigEndian.Uint16(x.flags(r)) & flagStages
	if !x.Sparse && x.files[0].link == nil || mode != tree.Dir || stage != 0 || id.IsZero() {
		return fmt.Errorf("%w: %q is no sparse directory", ErrMalformed, r.path)
	}
	x.Sparse, x.Skips = true, true
	dir.sparse = id
	return nil
}

// finish gives the directories the names of their subdirectories, and makes
// them found by their paths.
func (g *grouper) finish() error {
	x := g.index
	x.byPath = make(map[string]uint32, len(x.dirs))
	slab := make([]string, len(x.dirs)-1)
	for i := range x.dirs {
		d := &x.dirs[i]
		x.byPath[d.path] = uint32(i)
		if !d.sparse.IsZero() && d.count+d.kids > 0 {
			return fmt.Errorf("%w: sparse directory %q has entries", ErrMalformed, d.path)
		}
		d.names, slab = slab[:0:d.kids], slab[d.kids:]
		if i > 0 {
			above := &x.dirs[d.parent]
			above.names = append(above.names, strings.TrimPrefix(d.path[len(above.path):], "/"))
		}
	}
	for i := range x.dirs {
		// The index sorts "a-b/c" before "a/b"; as names "a" comes first.
		slices.Sort(x.dirs[i].names)
	}
	return nil
}
