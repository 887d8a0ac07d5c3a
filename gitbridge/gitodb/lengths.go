package gitodb

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Lengths is [DB.Length] for n objects at once: for the bytes of the i-th id it
// sets the i-th size, -1 where the length cannot be told. Id is called by several
// goroutines, more than once for a number.
func (d *DB) Lengths(n int, id func(i int) []byte, sizes []int64) {
	for i := range n {
		sizes[i] = -1
	}
	left := n
	for _, s := range d.all() {
		recent := s.recent.Load()
		if recent != nil && left > 0 {
			left -= recent.lengths(n, id, sizes)
		}
		for _, p := range s.list() {
			if p != recent && left > 0 {
				left -= p.lengths(n, id, sizes)
			}
		}
	}
	for i := 0; i < n && left > 0; i++ {
		if sizes[i] >= 0 {
			continue
		}
		left--
		want, err := oid.FromBytes(id(i))
		if err != nil {
			continue
		}
		if size, err := d.Length(want); err == nil {
			sizes[i] = size
		}
	}
}

// A wanted is an object whose length is asked for.
type wanted struct {
	at     uint64        // the first bytes of its id; when it was found: where it is in the pack
	id     [idBytes]byte // its first bytes: to fetch the whole would mean another wait
	number int32
}

// idBytes of an id name an object. Nothing here is checked against the id, so an
// index that was made to mislead could do so in any case.
const idBytes = 16

// lengths fills in the sizes, where they are missing, of the objects that the
// mapped pack has, and returns how many these were. What is in any way out of
// the ordinary is left to [DB.Length].
//
// The ids are searched for in their own order, and the heads then read in
// theirs, nearly: at random most of the time would go into waiting for memory
// and into mapping the pack's pages.
func (p *pack) lengths(n int, id func(i int) []byte, sizes []int64) int {
	x := p.lookUp()
	if x == nil {
		return 0
	}
	f, err := p.open()
	if err != nil {
		return 0
	}
	list := make([]wanted, 0, n)
	for i := range n {
		if sizes[i] >= 0 {
			continue
		}
		if b := id(i); len(b) == x.hash {
			list = append(list, wanted{at: binary.BigEndian.Uint64(b), id: [idBytes]byte(b), number: int32(i)})
		}
	}
	if p.data == nil {
		return 0
	}
	h := heads{pack: p, data: p.data}
	if len(list) >= shareMin {
		// Of its own map: giving back so many pages takes a while, in which
		// the caller goes on.
		data, unmap := mapOpen(f, p.size)
		if data == nil {
			return 0
		}
		h.data = data
		defer func() { go unmap() }()
	}
	list, room := inOrder(list, make([]wanted, len(list)), 64)
	share(list, func(part []wanted) { x.searchAll(part, int64(len(h.data))) })
	list, _ = inOrder(list, room, bits.Len64(uint64(len(h.data))))
	var found atomic.Int64
	share(list, func(part []wanted) { found.Add(int64(h.readAll(part, sizes))) })
	return int(found.Load())
}

// heads are the heads of objects in a mapped pack.
type heads struct {
	pack *pack
	data []byte
}

const (
	shareMin   = 2048 // from so many objects on they are put in order, and the work is shared
	lookAhead  = 64   // how many heads are fetched before they are read
	bucketBits = 12
)

// inOrder puts a long list nearly in order of where objects are, which are
// numbers of so many bits: by the first of them. It returns the list and, for
// the next time, the room that it does not take.
func inOrder(list, room []wanted, width int) (sorted, rest []wanted) {
	if len(list) < shareMin {
		return list, room
	}
	shift := max(width-bucketBits, 0)
	var ends [1 << bucketBits]int32
	for i := range list {
		ends[list[i].at>>shift]++
	}
	var at int32
	for b, count := range ends {
		ends[b], at = at, at+count
	}
	for i := range list {
		w := &list[i]
		b := w.at >> shift
		room[ends[b]] = *w
		ends[b]++
	}
	return room, list
}

// share does something with a list, in parts and at once if it is long.
func share(list []wanted, do func(part []wanted)) {
	workers := min(runtime.GOMAXPROCS(0), len(list)/shareMin+1)
	var done sync.WaitGroup
	for w := 1; w < workers; w++ {
		done.Go(func() { do(list[len(list)*w/workers : len(list)*(w+1)/workers]) })
	}
	do(list[:len(list)/workers])
	done.Wait()
}

// searchAll finds where in a pack of a size the objects are; 0 is nowhere.
func (x *index) searchAll(list []wanted, size int64) {
	for i := range list {
		list[i].at = 0
	}
	_ = guard(func() error {
		for i := range list {
			if off, ok := x.search(list[i].id[:]); ok && off < size {
				list[i].at = uint64(off)
			}
		}
		return nil
	})
}

// readAll reads the lengths of the objects that were found. It fetches many
// heads before it looks at the first: then the processor waits for all of them
// at once.
func (h *heads) readAll(list []wanted, sizes []int64) (found int) {
	_ = guard(func() error {
		for len(list) > 0 {
			some := list[:min(len(list), lookAhead)]
			list = list[len(some):]
			h.touch(some)
			for _, w := range some {
				if n, ok := h.length(int64(w.at)); ok {
					sizes[w.number], found = n, found+1
				}
			}
		}
		return nil
	})
	return found
}

// touch reads a byte of every head.
func (h *heads) touch(list []wanted) {
	var sum byte
	for _, w := range list {
		sum += h.data[w.at]
	}
	touched.Store(uint32(sum))
}

var touched atomic.Uint32 // what touch read must go somewhere, or it is not read

// length returns the size of the object at an offset, if its head says it.
func (h *heads) length(off int64) (int64, bool) {
	if off < 12 || off >= int64(len(h.data)) {
		return 0, false
	}
	head := h.data[off:]
	e, ok := h.pack.parse(head[:min(len(head), entryHeadMax)], off)
	if !ok {
		return 0, false
	}
	if e.kind != offsetDelta && e.kind != refDelta {
		return e.size, true
	}
	var delta [deltaHeadMax]byte
	n := inflateStart(h.data[e.data:], delta[:min(e.size, deltaHeadMax)])
	_, rest, ok := deltaSize(delta[:n])
	size, _, ok2 := deltaSize(rest)
	return size, ok && ok2
}
