package gitodb

import (
	"runtime"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// lengthsShare is from how many objects on two or more goroutines look for their lengths.
const lengthsShare = 2048

// Lengths is [DB.Length] for n objects at once: for the bytes of the i-th id it
// sets the i-th size, -1 where the length cannot be told. Id is called by several
// goroutines.
func (d *DB) Lengths(n int, id func(i int) []byte, sizes []int64) {
	workers := min(runtime.GOMAXPROCS(0), n/lengthsShare+1)
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := n * w / workers; i < n*(w+1)/workers; i++ {
				sizes[i] = -1
				if want, err := oid.FromBytes(id(i)); err != nil {
					continue
				} else if size, err := d.Length(want); err == nil {
					sizes[i] = size
				}
			}
		})
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
