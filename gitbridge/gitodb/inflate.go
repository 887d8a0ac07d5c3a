package gitodb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An inflater reads one zlib stream after another.
type inflater struct {
	in  *bufio.Reader
	z   io.ReadCloser
	err error // of the stream's head
}

// inflater begins a zlib stream; the caller puts it back into d.inflate.
func (d *DB) inflater(r io.Reader) *inflater {
	z, _ := d.inflate.Get().(*inflater)
	if z == nil {
		z = &inflater{in: bufio.NewReaderSize(nil, 8<<10)}
	}
	z.in.Reset(r)
	if z.z == nil {
		z.z, z.err = zlib.NewReader(z.in)
	} else {
		z.err = z.z.(zlib.Resetter).Reset(z.in, nil)
	}
	if z.err != nil {
		z.z = nil
	}
	return z
}

// Read gives inflated bytes; what cannot be inflated is ErrCorrupt.
func (z *inflater) Read(p []byte) (int, error) {
	if z.err != nil {
		return 0, broken(z.err)
	}
	n, err := z.z.Read(p)
	if err != nil && err != io.EOF {
		err = broken(err)
	}
	return n, err
}

// broken tells a stream that is not zlib from a disk that cannot be read.
func broken(err error) error {
	var path interface{ Timeout() bool } // what the errors of package os have
	if errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrCorrupt, err)
}

// fill reads exactly len(p) bytes.
func (z *inflater) fill(p []byte) error {
	_, err := io.ReadFull(z, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	return err
}

// end checks that the stream ends here, its checksum included.
func (z *inflater) end() error {
	var one [1]byte
	n, err := io.ReadFull(z, one[:])
	if n > 0 {
		return fmt.Errorf("%w: longer than it says", ErrCorrupt)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// bases remembers objects that deltas were applied to, because the next object
// asked for is often a delta on the same ones. An entry is found by its hash
// alone: a newer one takes its place.
type bases struct {
	mu    sync.Mutex
	bytes int
	slots []base // none before the first is stored
}

// basesBytesMax bounds the memory of the cache.
const basesBytesMax = 64 << 20

type baseKey struct {
	pack *pack
	off  int64
}

type base struct {
	key  baseKey
	kind oid.Kind
	data []byte
}

// slotBits is the logarithm of the number of slots.
const slotBits = 10

func (b *bases) slot(key baseKey) *base {
	return &b.slots[uint64(key.off)*0x9e3779b97f4a7c15>>(64-slotBits)]
}

// load returns what was stored; its data must not be changed.
func (b *bases) load(key baseKey) (base, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slots == nil {
		return base{}, false
	}
	s := b.slot(key)
	return *s, s.key == key
}

func (b *bases) store(n base) {
	if len(n.data) > basesBytesMax/16 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slots == nil {
		b.slots = make([]base, 1<<slotBits)
	}
	s := b.slot(n.key)
	b.bytes += len(n.data) - len(s.data)
	*s = n
	if b.bytes > basesBytesMax {
		clear(b.slots)
		b.bytes = 0
	}
}

// looseHeadMax is more than git's longest kind and size.
const looseHeadMax = 32

// looseHead reads "kind size NUL" from the head of a loose object and returns
// the payload bytes that came with it.
func looseHead(z *inflater) (kind oid.Kind, size int64, payload []byte, err error) {
	buf := make([]byte, looseHeadMax)
	n, err := io.ReadFull(z, buf)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, 0, nil, err
	}
	head, payload, ok := bytes.Cut(buf[:n], []byte{0})
	word, digits, ok2 := bytes.Cut(head, []byte(" "))
	if !ok || !ok2 || len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(digits) > 1 {
		return 0, 0, nil, fmt.Errorf("%w: no head", ErrCorrupt)
	}
	if kind, err = oid.ParseKind(string(word)); err != nil {
		return 0, 0, nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, 0, nil, fmt.Errorf("%w: no size", ErrCorrupt)
		}
		size = size*10 + int64(c-'0')
	}
	if int64(len(payload)) > size {
		return 0, 0, nil, fmt.Errorf("%w: longer than it says", ErrCorrupt)
	}
	return kind, size, payload, nil
}
