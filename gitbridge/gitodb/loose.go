package gitodb

import (
	"fmt"
	"os"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// readLoose returns the object in a file.
func (d *DB) readLoose(path string) (oid.Kind, []byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	z := d.inflater(f)
	defer d.inflate.Put(z)
	kind, size, head, err := looseHead(z)
	if err != nil {
		return 0, nil, err
	}
	out, err := d.looseBody(f, z, size, head)
	return kind, out, err
}

// looseBody returns the payload of an object in a file, of which the head was read, and
// with it the beginning of the payload.
func (d *DB) looseBody(f *os.File, z *inflater, size int64, beginning []byte) ([]byte, error) {
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case size/inflateRatioMax > st.Size():
		return nil, fmt.Errorf("%w: cut short", ErrCorrupt)
	case size > d.bytesMax:
		return nil, ErrTooLarge
	}
	out := make([]byte, size)
	if err := z.fill(out[copy(out, beginning):]); err != nil {
		return nil, err
	}
	return out, z.end()
}

// looseSize reads the head of the object in a file.
func (d *DB) looseSize(path string) (oid.Kind, int64, error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	z := d.inflater(f)
	defer d.inflate.Put(z)
	kind, size, _, err := looseHead(z)
	return kind, size, err
}
