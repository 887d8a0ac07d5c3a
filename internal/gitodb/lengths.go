package gitodb

import (
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Lengths is [DB.Length] for many objects at once; of one without a length that
// could be told it gives -1. Sizes has room for as many as there are ids.
func (d *DB) Lengths(ids []oid.ID, sizes []int64) {
	sizes = sizes[:len(ids)]
	for i := range sizes {
		sizes[i] = -1
	}
	left := len(ids)
	for _, s := range d.all() {
		recent := s.recent.Load()
		if recent != nil && left > 0 {
			left -= recent.lengths(ids, sizes)
		}
		for _, p := range s.list() {
			if p != recent && left > 0 {
				left -= p.lengths(ids, sizes)
			}
		}
	}
	for i := 0; i < len(ids) && left > 0; i++ {
		if sizes[i] >= 0 {
			continue
		}
		left--
		if n, err := d.Length(ids[i]); err == nil {
			sizes[i] = n
		}
	}
}

// lengths fills in the sizes, where they are missing, of the objects that the
// mapped pack has, and returns how many these were. What is in any way out of
// the ordinary is left to [DB.Length].
func (p *pack) lengths(ids []oid.ID, sizes []int64) (found int) {
	x := p.lookUp()
	if x == nil {
		return 0
	}
	if _, err := p.open(); err != nil || p.data == nil {
		return 0
	}
	// The heads lie all over the pack, none where the processor expects it. It
	// waits for many of them at once if nothing but reading is done.
	var at [lookAhead]int64
	_ = guard(func() error {
		for from := 0; from < len(ids); from += lookAhead {
			to := min(len(ids), from+lookAhead)
			x.searchAll(ids[from:to], sizes[from:to], &at)
			p.touch(at[:to-from])
			for i, off := range at[:to-from] {
				if n, ok := p.mappedLength(off); ok {
					sizes[from+i], found = n, found+1
				}
			}
		}
		return nil
	})
	return found
}

// lookAhead is how many heads are looked up before they are read.
const lookAhead = 64

// searchAll puts into at where the objects are whose size is missing, 0 where
// there is nothing to look up.
func (x *index) searchAll(ids []oid.ID, sizes []int64, at *[lookAhead]int64) {
	var buf [32]byte
	for i, id := range ids {
		at[i] = 0
		want := id.Append(buf[:0])
		if sizes[i] >= 0 || len(want) != x.hash {
			continue
		}
		if off, ok := x.search(want); ok {
			at[i] = off
		}
	}
}

// touch reads a byte of every head.
func (p *pack) touch(at []int64) {
	var sum byte
	for _, off := range at {
		if off < int64(len(p.data)) {
			sum += p.data[off]
		}
	}
	touched.Store(uint32(sum))
}

var touched atomic.Uint32 // what touch read must go somewhere, or it is not read

// mappedLength returns the size of the object at an offset, if its head in the
// mapped pack says it.
func (p *pack) mappedLength(off int64) (int64, bool) {
	if off < 12 || off >= int64(len(p.data)) {
		return 0, false
	}
	head := p.data[off:]
	e, ok := p.parse(head[:min(len(head), entryHeadMax)], off)
	if !ok {
		return 0, false
	}
	if e.kind != offsetDelta && e.kind != refDelta {
		return e.size, true
	}
	var delta [deltaHeadMax]byte
	n := inflateStart(p.data[e.data:], delta[:min(e.size, deltaHeadMax)])
	_, rest, ok := deltaSize(delta[:n])
	size, _, ok2 := deltaSize(rest)
	return size, ok && ok2
}
