package gitodb

import (
	"fmt"

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
	st, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	z := d.inflater(f)
	defer d.inflate.Put(z)
	kind, size, head, err := looseHead(z)
	switch {
	case err != nil:
		return 0, nil, err
	case size/inflateRatioMax > st.Size():
		return 0, nil, fmt.Errorf("%w: cut short", ErrCorrupt)
	case size > d.opt.BytesMax:
		return 0, nil, ErrTooLarge
	}
	out := make([]byte, size)
	if err := z.fill(out[copy(out, head):]); err != nil {
		return 0, nil, err
	}
	return kind, out, z.end()
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
