package gitodb

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// Stream opens an object of any size. Its data are verified as they are read:
// the last Read gives ErrCorrupt instead of io.EOF where the id does not match,
// so nothing may be relied upon before io.EOF. Small objects, and those that
// git keeps as deltas, are held in memory and verified at once.
func (d *DB) Stream(id oid.ID) (Object, error) {
	var o Object
	err := d.try(id, func(at place) (err error) {
		var p []byte
		if at.pack == nil {
			o, p, err = d.streamLoose(at.loose)
		} else if o, err = d.streamPacked(at.pack, at.off); err == nil && o.Size < streamBytesMin {
			o.Kind, p, err = d.unpack(at.pack, at.off)
		}
		if err != nil || o.Size >= streamBytesMin {
			return err
		}
		if d.alg.Sum(o.Kind, p) != id {
			return fmt.Errorf("%w: its bytes have another id", ErrCorrupt)
		}
		o = Payload(o.Kind, p)
		return nil
	})
	if err != nil {
		return Object{}, fmt.Errorf("object %v: %w", id, err)
	}
	if v, ok := o.Data.(*verified); ok {
		v.id, v.left, v.hash = id, o.Size, d.alg.NewHasher(o.Kind, o.Size)
	}
	return o, nil
}

// streamPacked opens an entry that is no delta and large; where it is not, the
// object has no data.
func (d *DB) streamPacked(p *pack, off int64) (Object, error) {
	f, err := p.open()
	if err != nil {
		return Object{}, err
	}
	e, err := p.entry(off)
	if err != nil || e.kind == offsetDelta || e.kind == refDelta || e.size < streamBytesMin {
		return Object{}, err
	}
	z := d.inflater(io.NewSectionReader(f, e.data, p.size-e.data))
	data := &verified{r: z, z: z, close: func() error { return nil }}
	return Object{Kind: oid.Kind(e.kind), Size: e.size, Data: data}, nil
}

// streamLoose opens a file; where its object is small, it has no data, and the whole
// payload is returned.
func (d *DB) streamLoose(path string) (o Object, small []byte, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return Object{}, nil, err
	}
	z := d.inflater(f)
	kind, size, head, err := looseHead(z)
	if err == nil && size < streamBytesMin {
		small, err = d.looseBody(f, z, size, head)
	}
	if err != nil || size < streamBytesMin {
		d.inflate.Put(z)
		return Object{Kind: kind}, small, errors.Join(err, f.Close())
	}
	data := &verified{r: io.MultiReader(bytes.NewReader(head), z), z: z, close: f.Close}
	return Object{Kind: kind, Size: size, Data: data}, nil, nil
}

// A verified is a payload that is hashed while it is read.
type verified struct {
	r     io.Reader
	z     *inflater
	id    oid.ID
	left  int64
	hash  *oid.Hasher
	close func() error
}

// Read gives io.EOF only after the whole payload with the right id.
func (v *verified) Read(p []byte) (int, error) {
	if v.left == 0 {
		if err := v.z.end(); err != nil {
			return 0, fmt.Errorf("object %v: %w", v.id, err)
		}
		if v.hash.Sum() != v.id {
			return 0, fmt.Errorf("object %v: %w: its bytes have another id", v.id, ErrCorrupt)
		}
		return 0, io.EOF
	}
	n, err := v.r.Read(p[:min(int64(len(p)), v.left)])
	_, _ = v.hash.Write(p[:n])
	v.left -= int64(n)
	if err == io.EOF && v.left > 0 {
		err = fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	if err == io.EOF {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("object %v: %w", v.id, err)
	}
	return n, err
}

// Close releases the file.
func (v *verified) Close() error { return v.close() }
