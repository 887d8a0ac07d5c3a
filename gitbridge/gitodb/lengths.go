package gitodb

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// lengthsShare is from how many objects on two or more goroutines look for their lengths.
const lengthsShare = 2048

// Lengths is [DB.Length] for n objects at once: for the bytes of the i-th id it
// sets the i-th size, -1 where the length cannot be told. Id is called by several
// goroutines, more than once for a number.
func (d *DB) Lengths(n int, id func(i int) []byte, sizes []int64) {
	workers := min(runtime.GOMAXPROCS(0), n/lengthsShare+1)
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() { d.lengths(n*w/workers, n*(w+1)/workers, id, sizes) })
	}
	done.Wait()
	if n >= lengthsShare {
		d.giveBack()
	}
}

// giveBack lets the system have the pages of mapped packs back: a look at everything has
// met most of them, and a program that lives on would seem to need them all from then on.
func (d *DB) giveBack() {
	for _, s := range d.all() {
		for _, p := range s.list() {
			p.mu.Lock()
			giveBackPages(p.data)
			p.mu.Unlock()
		}
	}
}

// lengths is Lengths for some of the numbers. What a pack has that is mapped is read
// where it lies, all of it at once; what is in any way out of the ordinary by Length.
func (d *DB) lengths(from, to int, id func(i int) []byte, sizes []int64) {
	for i := from; i < to; i++ {
		sizes[i] = -1
	}
	for _, s := range d.all() {
		for _, p := range s.list() {
			if p.lookUp() == nil {
				continue
			}
			if _, err := p.open(); err != nil || p.data == nil {
				continue
			}
			_ = guard(func() error {
				for i := from; i < to; i++ {
					if sizes[i] < 0 {
						sizes[i] = d.mappedLength(p, id(i))
					}
				}
				return nil
			})
		}
	}
	for i := from; i < to; i++ {
		if sizes[i] >= 0 {
			continue
		}
		if want, err := oid.FromBytes(id(i)); err == nil {
			if size, err := d.Length(want); err == nil {
				sizes[i] = size
			}
		}
	}
}

// mappedLength returns the size of an object of a pack that is mapped, -1 if it is not
// that simple.
func (d *DB) mappedLength(p *pack, id []byte) int64 {
	if len(id) != p.index.hash {
		return -1
	}
	end := int64(len(p.data))
	off, ok := p.index.search(id)
	if !ok || off < 12 || off >= end {
		return -1
	}
	e, ok := p.parse(p.data[off:min(end, off+entryHeadMax)], off)
	if !ok {
		return -1
	}
	if e.kind != offsetDelta && e.kind != refDelta {
		return e.size
	}
	z := d.inflater(bytes.NewReader(p.data[e.data:min(end, e.data+headBytes)]))
	defer d.inflate.Put(z)
	size, err := resultSize(z, e)
	if err != nil {
		return -1
	}
	return size
}
