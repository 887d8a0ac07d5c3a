package gitodb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// A pack is one pack file with its index. Its files are opened when they are
// needed and stay usable when git deletes them meanwhile.
type pack struct {
	path  string // without the extension
	alg   oid.Algorithm
	cruft bool
	gone  atomic.Bool  // the files are no longer there
	fresh atomic.Int64 // when its mtime was last set, in Unix seconds

	once  sync.Once             // opens the index
	index *index                // nil where it cannot be used
	bad   atomic.Pointer[error] // why it cannot

	mu   sync.Mutex // held while the file is opened
	file *os.File
	info fs.FileInfo // of the file when it was opened
	size int64       // of the file without its trailer

	data  []byte       // the file mapped; nil where that cannot be
	unmap func() error // of data
}

// Types of entries in a pack beside those of [oid.Kind].
const (
	offsetDelta = 6
	refDelta    = 7
)

// deltaDepthMax is the longest chain of deltas that git writes.
const deltaDepthMax = 4095

// inflateRatioMax bounds what deflate can make of one byte.
const inflateRatioMax = 1032

// open opens the pack file once and checks it against its index.
func (p *pack) open() (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		return p.file, nil
	}
	f, err := regular.Open(p.path + ".pack")
	if err != nil {
		return nil, err
	}
	if err := p.check(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s.pack: %w", p.path, err), f.Close())
	}
	p.file = f
	p.data, p.unmap = mapOpen(f, p.size)
	return f, nil
}

// ReadAt reads from the pack, which is open. From the map it costs no system
// call, of which looking at heads alone would make two an object.
func (p *pack) ReadAt(b []byte, off int64) (n int, err error) {
	if p.data == nil || off < 0 || off >= int64(len(p.data)) {
		return p.file.ReadAt(b, off)
	}
	err = guard(func() error {
		n = copy(b, p.data[off:])
		return nil
	})
	if err != nil {
		return p.file.ReadAt(b, off)
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

func (p *pack) check(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	want, err := p.index.checksum()
	if err != nil {
		return err
	}
	head, trailer := make([]byte, 12), make([]byte, p.alg.Size())
	p.info, p.size = st, st.Size()-int64(len(trailer))
	if _, err := f.ReadAt(head, 0); err != nil {
		return cutShort(err)
	}
	if _, err := f.ReadAt(trailer, max(p.size, 0)); err != nil {
		return cutShort(err)
	}
	if !bytes.Equal(trailer, want) {
		return fmt.Errorf("%w: it is not the pack of its index", ErrCorrupt)
	}
	version := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "PACK" || version != 2 && version != 3 {
		return fmt.Errorf("%w: not a pack of a known version", ErrCorrupt)
	}
	if int64(binary.BigEndian.Uint32(head[8:])) != int64(p.index.count) {
		return fmt.Errorf("%w: another number of objects than its index", ErrCorrupt)
	}
	return nil
}

// cutShort is the error of a file that ends too early. Other errors are the system's, and no proof of damage.
func cutShort(err error) error {
	if err == io.EOF {
		return fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	return err
}

func (p *pack) close() error {
	var errs []error
	if p.unmap != nil {
		errs = append(errs, p.unmap())
	}
	if p.file != nil {
		errs = append(errs, p.file.Close())
	}
	if p.index != nil {
		errs = append(errs, p.index.unmap())
	}
	return errors.Join(errs...)
}

// entryHeadMax is more than the head of an object has.
const entryHeadMax = 64

// An entry is the head of an object in a pack.
type entry struct {
	kind int   // an oid.Kind, offsetDelta or refDelta
	size int64 // of what inflating gives
	data int64 // where the deflated bytes begin
	base int64 // where the delta's base begins
}

// entry reads the head of the object at an offset.
func (p *pack) entry(off int64) (entry, error) {
	bad := func() error { return fmt.Errorf("%w: a broken head in %s.pack at %d", ErrCorrupt, p.path, off) }
	var buf [entryHeadMax]byte
	if off < 12 || off >= p.size {
		return entry{}, bad()
	}
	n, err := p.ReadAt(buf[:min(int64(len(buf)), p.size-off)], off)
	if err != nil && err != io.EOF {
		return entry{}, err
	}
	if n == 0 { // the file was cut short
		return entry{}, bad()
	}
	e, ok := p.parse(buf[:n], off)
	if !ok {
		return entry{}, bad()
	}
	return e, nil
}

// parse decodes the head of the object at an offset: not ok if it is broken.
func (p *pack) parse(head []byte, off int64) (e entry, ok bool) {
	e = entry{kind: int(head[0] >> 4 & 7), size: int64(head[0] & 15)}
	at := 0
	for shift := 4; head[at]&0x80 != 0; shift += 7 {
		if at++; at >= len(head) || shift > 53 {
			return entry{}, false
		}
		e.size |= int64(head[at]&0x7f) << shift
	}
	at++
	switch e.kind {
	case int(oid.Commit), int(oid.Tree), int(oid.Blob), int(oid.Tag):
	case offsetDelta:
		back, n := offsetBack(head[at:])
		if n == 0 || back <= 0 || back >= off {
			return entry{}, false
		}
		e.base, at = off-back, at+n
	case refDelta:
		size := p.alg.Size()
		if at+size > len(head) {
			return entry{}, false
		}
		id, err := oid.FromBytes(head[at : at+size])
		base, ok := p.find(id)
		if err != nil || !ok {
			return entry{}, false
		}
		e.base, at = base, at+size
	default:
		return entry{}, false
	}
	e.data = off + int64(at)
	return e, e.data < p.size && e.size/inflateRatioMax <= p.size-e.data
}

// offsetBack decodes how far before a delta its base begins, and how many
// bytes say so; none where they are cut short.
func offsetBack(p []byte) (back int64, n int) {
	for i := 0; i < len(p) && i < 8; i++ {
		back = back<<7 | int64(p[i]&0x7f)
		if p[i]&0x80 == 0 {
			return back, i + 1
		}
		back++
	}
	return 0, 0
}

// unpack returns the object at an offset of a pack.
func (d *DB) unpack(p *pack, off int64) (oid.Kind, []byte, error) {
	f, err := p.open()
	if err != nil {
		return 0, nil, err
	}
	deltas, base, held, err := d.chain(p, f, off)
	if err != nil {
		return 0, nil, err
	}
	if len(deltas) == 0 && held {
		return base.kind, bytes.Clone(base.data), nil
	}
	for i := len(deltas) - 1; i >= 0; i-- {
		base.key = baseKey{p, deltas[i].base}
		d.bases.store(base)
		delta, err := d.inflateEntry(p, f, deltas[i])
		if err != nil {
			return 0, nil, err
		}
		if base.data, err = patch(base.data, delta, d.bytesMax); err != nil {
			return 0, nil, err
		}
	}
	return base.kind, base.data, nil
}

// chain returns the deltas that make the object at an offset, the last one to
// be applied first, and what they begin with, which the cache may hold.
func (d *DB) chain(p *pack, f *os.File, off int64) (deltas []entry, b base, held bool, err error) {
	for range deltaDepthMax + 1 {
		if b, ok := d.bases.load(baseKey{p, off}); ok {
			return deltas, b, true, nil
		}
		e, err := p.entry(off)
		if err != nil {
			return nil, base{}, false, err
		}
		if e.kind != offsetDelta && e.kind != refDelta {
			data, err := d.inflateEntry(p, f, e)
			return deltas, base{kind: oid.Kind(e.kind), data: data}, false, err
		}
		deltas, off = append(deltas, e), e.base
	}
	return nil, base{}, false, fmt.Errorf("%w: its chain of deltas has no end", ErrCorrupt)
}

// inflateEntry returns the inflated bytes of one entry.
func (d *DB) inflateEntry(p *pack, f *os.File, e entry) ([]byte, error) {
	if e.size > d.bytesMax {
		return nil, ErrTooLarge
	}
	out := make([]byte, e.size)
	if p.data != nil {
		z := d.whole.Get().(*wholeInflater)
		defer d.whole.Put(z)
		if err := guard(func() error { return z.inflate(out, p.data[e.data:]) }); !errors.Is(err, errFault) {
			return out, err
		}
	}
	z := d.inflater(io.NewSectionReader(f, e.data, p.size-e.data))
	defer d.inflate.Put(z)
	if err := z.fill(out); err != nil {
		return nil, err
	}
	return out, z.end()
}

// packedLength returns the size of an object without unpacking it.
func (d *DB) packedLength(p *pack, off int64) (int64, error) {
	if _, err := p.open(); err != nil {
		return 0, err
	}
	e, err := p.entry(off)
	if err == nil && (e.kind == offsetDelta || e.kind == refDelta) {
		return d.deltaResult(p, e)
	}
	return e.size, err
}

// headBytes is how much of a deflated entry nearly always gives its first bytes.
const headBytes = 256

// deltaHeadMax is more than the two sizes at the head of a delta have.
const deltaHeadMax = 16

// deltaResult reads from a delta's head the size of what it makes. It reads little
// at first: of most deltas only these few bytes are ever wanted.
func (d *DB) deltaResult(p *pack, e entry) (result int64, err error) {
	for _, most := range []int64{headBytes, math.MaxInt64} {
		size := min(most, p.size-e.data)
		if result, err = d.resultSize(io.NewSectionReader(p, e.data, size), e); err == nil || size < most {
			break
		}
	}
	return result, err
}

// resultSize reads the size of what a delta makes from its deflated bytes.
func (d *DB) resultSize(from io.Reader, e entry) (int64, error) {
	z := d.inflater(from)
	defer d.inflate.Put(z)
	head := make([]byte, min(e.size, deltaHeadMax))
	if err := z.fill(head); err != nil {
		return 0, err
	}
	_, rest, ok := deltaSize(head)
	size, _, ok2 := deltaSize(rest)
	if !ok || !ok2 || size > math.MaxInt64/2 {
		return 0, fmt.Errorf("%w: a delta without a size", ErrCorrupt)
	}
	return size, nil
}
