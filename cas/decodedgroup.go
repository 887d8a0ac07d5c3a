package cas

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	// groupsKept are kept decoded: who reads many reads neighbours one after another.
	groupsKept = 16
	// groupsFree are kept for the next to be decoded.
	groupsFree = 2
)

// part returns the bytes of a part of a frame, in buf if there is room. It may be whole
// where the frame is damaged behind it.
func (v *View) part(id oid.ID, o object, row, buf []byte) ([]byte, error) {
	if len(row) > 0 && len(row) == len(v.groupRow) && &row[0] == &v.groupRow[0] {
		return v.group.part(o, buf)
	}
	g := v.s.groups.find(row)
	if g == nil {
		if raw := v.s.kept.find(v, id, o, row, buf); raw != nil {
			return raw, nil
		}
		g = v.s.decodeShared(row)
	}
	if v.tx == nil || v.tx.Writable() { // another row may come to lie there
		defer v.s.groups.release(g)
	} else {
		v.holdGroup(g, row)
	}
	return g.part(o, buf)
}

// holdGroup keeps a decoded frame for what is read next, in place of the one before.
func (v *View) holdGroup(g *decodedGroup, row []byte) {
	if v.group != nil {
		v.s.groups.release(v.group)
	}
	v.group, v.groupRow = g, row
}

// decodeShared decodes a frame. What it returns is to be released.
func (s *Store) decodeShared(row []byte) *decodedGroup {
	s.decoded.Add(1)
	g := s.groups.spare()
	if g.raw, g.err = s.codecs.decodeGroup(g.raw, row); g.err == nil {
		s.groups.keep(g, row)
	}
	return g
}

func (g *decodedGroup) part(o object, buf []byte) ([]byte, error) {
	end := uint64(o.at) + o.size
	switch {
	case end <= uint64(len(g.raw)):
		return append(room(buf, int(o.size)), g.raw[o.at:end]...), nil
	case g.err == nil:
		return nil, fmt.Errorf("%w: its frame decodes to %d bytes", ErrCorrupt, len(g.raw))
	}
	return nil, g.err
}

// decodedGroups are the frames that were decoded last of those that objects share, the
// newest first. One is found by its very bytes as they are in the file now. Their memory
// is used again: who reads everything would otherwise make as much garbage as there is.
type decodedGroups struct {
	mu   sync.Mutex
	list []*decodedGroup
	free []*decodedGroup
}

// A decodedGroup is read by those who have it from find or spare, until they release it.
type decodedGroup struct {
	row, raw []byte
	err      error // why it is not whole
	readers  int
	listed   bool
}

// find returns a frame that was decoded, or nil.
func (d *decodedGroups) find(row []byte) *decodedGroup {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, g := range d.list {
		if bytes.Equal(g.row, row) {
			g.readers++
			copy(d.list[1:i+1], d.list[:i])
			d.list[0] = g
			return g
		}
	}
	return nil
}

// spare returns memory for a frame.
func (d *decodedGroups) spare() *decodedGroup {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.free)
	if n == 0 {
		return &decodedGroup{readers: 1}
	}
	g := d.free[n-1]
	d.free = d.free[:n-1]
	g.readers = 1
	return g
}

// keep takes up a frame that was decoded, in the place of the one that was not read for
// the longest time.
func (d *decodedGroups) keep(g *decodedGroup, row []byte) {
	g.row = append(g.row[:0], row...)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) == groupsKept {
		old := d.list[groupsKept-1]
		d.list = d.list[:groupsKept-1]
		old.listed = false
		d.reuse(old)
	}
	g.listed = true
	d.list = slices.Insert(d.list, 0, g)
}

func (d *decodedGroups) release(g *decodedGroup) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g.readers--
	d.reuse(g)
}

// reuse gives the memory of a frame to others once nobody has it; the caller has the lock.
func (d *decodedGroups) reuse(g *decodedGroup) {
	if g.readers == 0 && !g.listed && len(d.free) < groupsFree {
		d.free = append(d.free, g)
	}
}
