package gitodb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An index is a pack's list of objects, mapped into memory and searched where
// it lies. Nothing in it is trusted: a wrong index gives a wrong offset at
// worst, and what is read there is checked against the id.
type index struct {
	data  []byte
	unmap func() error
	file  fs.FileInfo // of the file when it was mapped; nil where it was read
	hash  int         // bytes of an id
	count int

	ids    int // where the first id begins, and the bytes from one to the next
	stride int
	off32  int // where the offsets begin; in version 1 they precede their ids
	off64  int
	sum    int // where the checksum of the pack begins
}

var idxMagic = []byte("\xfftOc\x00\x00\x00\x02")

const fanoutBytes = 256 * 4

// openIndex maps an index file and checks its shape.
func openIndex(path string, alg oid.Algorithm) (*index, error) {
	data, unmap, file, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	x := &index{data: data, unmap: unmap, file: file, hash: alg.Size()}
	if err := guard(x.shape); err != nil {
		return nil, errors.Join(fmt.Errorf("pack index %s: %w", path, err), unmap())
	}
	return x, nil
}

// shape finds the tables of the index and checks that the file has room for
// them and that the fan-out ascends.
func (x *index) shape() error {
	fanout := 0
	v2 := bytes.HasPrefix(x.data, idxMagic)
	if v2 {
		fanout = len(idxMagic)
	}
	trailer := len(x.data) - 2*x.hash
	if trailer < fanout+fanoutBytes {
		return fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	var last uint32
	for i := range 256 {
		n := binary.BigEndian.Uint32(x.data[fanout+4*i:])
		if n < last {
			return fmt.Errorf("%w: its fan-out descends", ErrCorrupt)
		}
		last = n
	}
	if int64(last) > int64(len(x.data)/x.hash) { // so that no sum below overflows
		return fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	x.count, x.sum = int(last), trailer
	tables := fanout + fanoutBytes
	if v2 {
		x.ids, x.stride = tables, x.hash
		x.off32 = x.ids + x.count*(x.hash+4)
		x.off64 = x.off32 + x.count*4
	} else {
		x.off32, x.stride = tables, x.hash+4
		x.ids = x.off32 + 4
		x.off64 = x.off32 + x.count*x.stride
	}
	if x.off64 > trailer || !v2 && x.off64 != trailer {
		return fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	return nil
}

func (x *index) v2() bool { return x.stride == x.hash }

// find returns the offset of an object in the pack. The error is [errFault].
func (x *index) find(id oid.ID) (off int64, ok bool, err error) {
	var buf [32]byte
	want := id.Append(buf[:0])
	if len(want) != x.hash {
		return 0, false, nil
	}
	err = guard(func() error {
		off, ok = x.search(want)
		return nil
	})
	return off, ok && err == nil, err
}

// search is [index.find] for the first bytes of an id, eight of them or more.
func (x *index) search(want []byte) (int64, bool) {
	fanout := x.data[len(idxMagic):]
	if !x.v2() {
		fanout = x.data
	}
	lo, hi := 0, int(binary.BigEndian.Uint32(fanout[4*int(want[0]):]))
	if want[0] > 0 {
		lo = int(binary.BigEndian.Uint32(fanout[4*int(want[0])-4:]))
	}
	// Ids are spread evenly, so the first looks go to where this one should be.
	// Whatever they find, lo and hi stay around it.
	key := binary.BigEndian.Uint64(want)
	from, to := uint64(want[0])<<56, uint64(want[0])<<56|(1<<56-1)
	for looks := 0; lo < hi; looks++ {
		mid := int(uint(lo+hi) >> 1)
		if looks < guessesMax && from <= key && key <= to {
			mid = lo + int(float64(key-from)/(float64(to-from)+1)*float64(hi-lo))
			mid = min(mid, hi-1)
		}
		at := x.data[x.ids+mid*x.stride:]
		c := binary.BigEndian.Uint64(at)
		if c == key {
			switch bytes.Compare(at[:len(want)], want) {
			case 0:
				return x.offset(mid)
			case 1:
				hi = mid
			default:
				lo = mid + 1
			}
		} else if c > key {
			hi, to = mid, c
		} else {
			lo, from = mid+1, c
		}
	}
	return 0, false
}

// guessesMax is after how many looks in vain a search goes on by halves: an
// index may have been made so that guessing fails.
const guessesMax = 4

// offset returns where the i-th object begins in the pack.
func (x *index) offset(i int) (int64, bool) {
	if !x.v2() {
		return int64(binary.BigEndian.Uint32(x.data[x.off32+i*x.stride:])), true
	}
	off := binary.BigEndian.Uint32(x.data[x.off32+4*i:])
	if off&(1<<31) == 0 {
		return int64(off), true
	}
	at := x.off64 + 8*int(off&^(1<<31))
	if at+8 > x.sum {
		return 0, false
	}
	wide := binary.BigEndian.Uint64(x.data[at:])
	return int64(wide), wide < 1<<62
}

// checksum returns the pack's checksum as the index has it.
func (x *index) checksum() (sum []byte, err error) {
	err = guard(func() error {
		sum = bytes.Clone(x.data[x.sum : x.sum+x.hash])
		return nil
	})
	return sum, err
}

// errFault is what a page of a map says that is not there: the file was cut short, or its disk failed. Which of them it is
// only reading the file tells.
var errFault = fmt.Errorf("%w: cannot be read", ErrCorrupt)

// guard calls f, which reads mapped memory. A fault there is errFault instead of the end of the process.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			err = errFault
		}
	}()
	return f()
}

// find returns the offset of an object in the pack. A pack whose index cannot
// be used has no objects.
func (p *pack) find(id oid.ID) (int64, bool) {
	x := p.lookUp()
	if x == nil {
		return 0, false
	}
	off, ok, err := x.find(id)
	if err != nil { // that it has not the object is no proof
		bad := fmt.Errorf("%s.idx: %w", p.path, err) // a variable of its own, which alone needs memory
		p.bad.Store(&bad)
	}
	return off, ok
}

// lookUp returns the index of a pack, opened once; nil if it cannot be used.
func (p *pack) lookUp() *index {
	if p.gone.Load() {
		return nil
	}
	p.once.Do(func() {
		x, err := openIndex(p.path+".idx", p.alg)
		switch {
		case err == nil:
			p.index = x
		case errors.Is(err, os.ErrNotExist):
			p.gone.Store(true)
		default:
			p.bad.Store(&err)
		}
	})
	return p.index
}
