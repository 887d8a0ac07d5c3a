package gitindex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Options say what the bytes of an index do not.
type Options struct {
	// Algorithm is the repository's hash; zero is SHA-1.
	Algorithm oid.Algorithm

	// Mtime is the modification time of the index file itself in nanoseconds,
	// taken before it was read; see [Index.Racy].
	Mtime int64

	// Shared returns the bytes of the file sharedindex.ID beside the index. It
	// is called if the index is a split one; nil makes split indexes
	// [ErrUnsupported].
	Shared func(id oid.ID) ([]byte, error)
}

// Decode reads an index. It trusts nothing: checksum (unless git left it out,
// index.skipHash), lengths, paths, modes and order are checked. Its errors are
// [ErrMalformed], [ErrUnsupported] and those of [Options.Shared]. Memory is
// bounded by a multiple of the length of the data. The index keeps the data,
// which must not be changed any more.
func Decode(data []byte, opt *Options) (*Index, error) {
	var o Options
	if opt != nil {
		o = *opt
	}
	if o.Algorithm == 0 {
		o.Algorithm = oid.SHA1
	}
	var sums checksums
	x, err := sums.decode(data, &o)
	if !sums.right() {
		return nil, fmt.Errorf("%w: wrong checksum", ErrMalformed)
	}
	return x, err
}

// checksums are computed beside the decoding, which costs about as much. The
// bytes are not the caller's again before they are done.
type checksums struct {
	pending sync.WaitGroup
	wrong   atomic.Bool
}

// right waits for all of them.
func (c *checksums) right() bool {
	c.pending.Wait()
	return !c.wrong.Load()
}

// add begins to compare the checksum of data with the trailer; a null trailer
// means that git was told not to compute it.
func (c *checksums) add(data, trailer []byte, alg oid.Algorithm) {
	if bytes.Count(trailer, []byte{0}) == len(trailer) {
		return
	}
	c.pending.Go(func() {
		h := alg.Hash()
		h.Write(data)
		if !bytes.Equal(h.Sum(nil), trailer) {
			c.wrong.Store(true)
		}
	})
}

func (c *checksums) decode(data []byte, o *Options) (*Index, error) {
	f, err := c.readFile(data, o.Algorithm)
	if err != nil {
		return nil, err
	}
	x := &Index{Sparse: f.sparse, Mtime: o.Mtime, alg: o.Algorithm}
	x.files, x.records = [2]*file{f, f}, f.records
	if f.link != nil {
		base, err := c.join(f, o)
		if err != nil {
			return nil, err
		}
		x.files[1], x.records = base, f.records
		x.Sparse = x.Sparse || base.sparse
	}
	g := grouper{index: x}
	if err := g.group(); err != nil {
		return nil, err
	}
	return x, nil
}

// A record is where one entry lies in its file, and its path.
type record struct {
	path string
	at   uint32 // offset of the entry
	base uint8  // 1: the entry lies in the shared file of a split index
}

// A file is one index file taken apart: its records in order, and the
// extensions that matter here.
type file struct {
	data    []byte
	hash    int // size of an id
	version uint32
	records []record
	names   strings.Builder // holds the bytes of paths of version 4
	named   int             // bytes of all of them
	sparse  bool
	link    []byte // extension of a split index
	trailer []byte
}

const (
	headerSize = 12
	statSize   = 40 // ctime, mtime, dev, ino, mode, uid, gid, size

	flagExtended = 1 << 14
	flagStages   = 3 << 12
	flagLength   = 1<<12 - 1

	extendedReserved     = 1 << 15
	extendedSkipWorktree = 1 << 14
	extendedIntentToAdd  = 1 << 13

	pathMax   = 1 << 15 // no system takes longer paths
	expansion = 64      // of paths by version 4; real indexes stay below 2

	namesBytesMax  = 256 << 20 // of all paths of version 4: some two million
	namesBytesRoom = 1 << 20   // is made where paths need more than the file has
)

// readFile takes one file apart and begins its checksum.
func (c *checksums) readFile(data []byte, alg oid.Algorithm) (*file, error) {
	f := &file{data: data, hash: alg.Size()}
	if len(data) < headerSize+f.hash || string(data[:4]) != "DIRC" {
		return nil, fmt.Errorf("%w: no header", ErrMalformed)
	}
	if uint64(len(data)) >= 1<<32 {
		return nil, fmt.Errorf("%w: larger than 4 GiB", ErrUnsupported)
	}
	f.version = binary.BigEndian.Uint32(data[4:])
	if f.version < 2 || f.version > 4 {
		return nil, fmt.Errorf("%w: version %d", ErrUnsupported, f.version)
	}
	f.data, f.trailer = data[:len(data)-f.hash], data[len(data)-f.hash:]
	c.add(f.data, f.trailer, alg)
	return f, f.read()
}

func (f *file) read() error {
	count := int(binary.BigEndian.Uint32(f.data[8:]))
	smallest := statSize + f.hash + 3
	if count > (len(f.data)-headerSize)/smallest {
		return fmt.Errorf("%w: %d entries in %d bytes", ErrMalformed, count, len(f.data))
	}
	f.records = make([]record, 0, count)
	if f.version == 4 {
		f.names.Grow(len(f.data) - headerSize - count*smallest)
	}
	at := headerSize
	for range count {
		next, err := f.entry(at)
		if err != nil {
			return err
		}
		at = next
	}
	return f.extensions(f.data[at:])
}

// entry reads the path of the entry at an offset and returns the offset of the
// next.
func (f *file) entry(at int) (int, error) {
	name := at + statSize + f.hash + 2
	if name >= len(f.data) {
		return 0, fmt.Errorf("%w: entry cut short", ErrMalformed)
	}
	flags := binary.BigEndian.Uint16(f.data[name-2:])
	if flags&flagExtended != 0 {
		if f.version < 3 {
			return 0, fmt.Errorf("%w: extended flags in version 2", ErrMalformed)
		}
		name += 2
	}
	if f.version == 4 {
		return f.compressed(at, name)
	}
	n := int(flags & flagLength)
	if n == flagLength {
		n = bytes.IndexByte(f.data[min(name, len(f.data)):], 0)
	}
	// One to eight NULs fill up to a multiple of eight.
	next := at + (name-at+n+8)&^7
	if n < 0 || next > len(f.data) || f.data[name+n] != 0 {
		return 0, fmt.Errorf("%w: entry cut short", ErrMalformed)
	}
	if n > pathMax {
		return 0, fmt.Errorf("%w: path of %d bytes", ErrMalformed, n)
	}
	var path string
	if n > 0 {
		path = unsafe.String(&f.data[name], n) // the data are ours, and do not change
	}
	f.records = append(f.records, record{path: path, at: uint32(at)})
	return next, nil
}

// compressed reads a path of version 4: how many bytes of the previous path to
// drop, then what to put in their place, up to a NUL.
func (f *file) compressed(at, p int) (int, error) {
	drop, n := varint(f.data[min(p, len(f.data)):])
	if n == 0 {
		return 0, fmt.Errorf("%w: path cut short", ErrMalformed)
	}
	p += n
	end := bytes.IndexByte(f.data[p:], 0)
	var last string
	if len(f.records) > 0 {
		last = f.records[len(f.records)-1].path
	}
	if end < 0 || drop > uint64(len(last)) {
		return 0, fmt.Errorf("%w: path cut short", ErrMalformed)
	}
	return p + end + 1, f.keep(at, last[:len(last)-int(drop)], f.data[p:p+end])
}

// keep adds a record of version 4. A builder never changes bytes it has handed
// out, so paths cost few allocations; one that is full stays as it is, for to
// let it grow would leave all its earlier bytes behind.
func (f *file) keep(at int, prefix string, suffix []byte) error {
	n := len(prefix) + len(suffix)
	if n > pathMax || f.named+n > min(expansion*len(f.data), namesBytesMax) {
		return fmt.Errorf("%w: path of %d bytes, after paths of %d", ErrMalformed, n, f.named)
	}
	if f.named += n; f.names.Cap()-f.names.Len() < n {
		f.names = strings.Builder{}
		f.names.Grow(max(n, namesBytesRoom))
	}
	from := f.names.Len()
	f.names.WriteString(prefix)
	f.names.Write(suffix)
	f.records = append(f.records, record{path: f.names.String()[from:], at: uint32(at)})
	return nil
}

// varint reads a number in the encoding that git uses for offsets: seven bits
// a byte, highest first, each continuation adding one so that no number has
// two encodings. It returns 0 bytes for an error.
func varint(p []byte) (v uint64, n int) {
	for n < len(p) && n < 9 {
		c := p[n]
		n++
		v |= uint64(c & 0x7f)
		if c < 0x80 {
			return v, n
		}
		v = (v + 1) << 7
	}
	return 0, 0
}

// extensions reads what follows the entries. An extension whose name begins
// with a capital may be passed over; any other must be understood.
func (f *file) extensions(p []byte) error {
	for len(p) > 0 {
		if len(p) < 8 {
			return fmt.Errorf("%w: extension cut short", ErrMalformed)
		}
		name, size := string(p[:4]), uint64(binary.BigEndian.Uint32(p[4:]))
		p = p[8:]
		if size > uint64(len(p)) {
			return fmt.Errorf("%w: extension %q cut short", ErrMalformed, name)
		}
		switch {
		case name == "link":
			f.link = p[:size:size]
		case name == "sdir":
			f.sparse = true
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("%w: extension %q", ErrUnsupported, name)
		}
		p = p[size:]
	}
	return nil
}
