package gitindex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// join replaces the records of a split index, which are only what differs from
// a shared file, by those of the whole index, and returns the shared file. The
// difference is two bitmaps over the shared entries, those deleted and those
// replaced; the replacements, with empty paths, in order; then what was added.
func (c *checksums) join(f *file, o *Options) (*file, error) {
	if len(f.link) < f.hash {
		return nil, fmt.Errorf("%w: extension \"link\" cut short", ErrMalformed)
	}
	id, err := oid.FromBytes(f.link[:f.hash])
	if err != nil {
		return nil, err
	}
	if id.IsZero() { // split in name only
		return f, nil
	}
	base, err := c.shared(f, id, o)
	if err != nil {
		return nil, err
	}
	var gone, replaced bitmap
	if rest := f.link[f.hash:]; len(rest) > 0 {
		if gone, rest, err = readBitmap(rest, len(base.records)); err != nil {
			return nil, err
		}
		if replaced, _, err = readBitmap(rest, len(base.records)); err != nil {
			return nil, err
		}
	}
	kept := make([]record, 0, len(base.records))
	added := f.records
	for i, r := range base.records {
		r.base = 1
		if replaced.has(i) {
			if len(added) == 0 || added[0].path != "" {
				return nil, fmt.Errorf("%w: no replacement for %q", ErrMalformed, r.path)
			}
			r.at, r.base = added[0].at, 0
			added = added[1:]
		}
		if !gone.has(i) {
			kept = append(kept, r)
		}
	}
	f.records = merge(kept, added, [2]*file{f, base})
	return base, nil
}

// shared reads the shared file of f, whose id is the checksum in its trailer.
func (c *checksums) shared(f *file, id oid.ID, o *Options) (*file, error) {
	if o.Shared == nil {
		return nil, fmt.Errorf("%w: extension \"link\"", ErrUnsupported)
	}
	data, err := o.Shared(id)
	if err != nil {
		return nil, fmt.Errorf("shared index %v: %w", id, err)
	}
	base, err := c.readFile(data, o.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("shared index %v: %w", id, err)
	}
	if base.link != nil || !bytes.Equal(base.trailer, f.link[:f.hash]) {
		return nil, fmt.Errorf("%w: shared index %v is another file", ErrMalformed, id)
	}
	return base, nil
}

// merge puts added records into their places; one that has the path and stage
// of a kept record takes its place. It need not check the order: the grouper
// does.
func merge(kept, added []record, files [2]*file) []record {
	x := Index{files: files}
	stage := func(r *record) int { return int(binary.BigEndian.Uint16(x.flags(r)) & flagStages) }
	out := make([]record, 0, len(kept)+len(added))
	for len(kept) > 0 && len(added) > 0 {
		c := strings.Compare(kept[0].path, added[0].path)
		if c == 0 {
			c = stage(&kept[0]) - stage(&added[0])
		}
		if c < 0 {
			out, kept = append(out, kept[0]), kept[1:]
			continue
		}
		if c == 0 {
			kept = kept[1:]
		}
		out, added = append(out, added[0]), added[1:]
	}
	return append(append(out, kept...), added...)
}

// A bitmap is a set of entry numbers; the empty one may be nil.
type bitmap []uint64

func (b bitmap) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 != 0 }

// readBitmap reads a bitmap over n entries in the encoding of EWAH
// (git-scm.com/docs/bitmap-format, appendix A): the number of bits, of words,
// the words, and the position of the last marker, which readers do not need. A
// marker word says how many words of all zeros or all ones follow (not
// written), and how many literal words follow it.
func readBitmap(p []byte, n int) (bitmap, []byte, error) {
	broken := fmt.Errorf("%w: bitmap of a split index", ErrMalformed)
	if len(p) < 8 {
		return nil, nil, broken
	}
	size, words := binary.BigEndian.Uint32(p), uint64(binary.BigEndian.Uint32(p[4:]))
	p = p[8:]
	if uint64(size) > uint64(n) || uint64(len(p)) < words*8+4 {
		return nil, nil, broken
	}
	rest := p[words*8+4:]
	p = p[:words*8]
	limit := (n + 63) / 64
	var b bitmap
	for len(p) > 0 {
		marker := binary.BigEndian.Uint64(p)
		p = p[8:]
		run, literals := int(marker>>1&(1<<32-1)), int(marker>>33)
		if run > limit-len(b) || literals > limit-len(b)-run || literals*8 > len(p) {
			return nil, nil, broken
		}
		fill := -(marker & 1)
		for range run {
			b = append(b, fill)
		}
		for range literals {
			b = append(b, binary.BigEndian.Uint64(p))
			p = p[8:]
		}
	}
	return b, rest, nil
}
