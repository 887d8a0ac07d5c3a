package worktree

import (
	"fmt"
	"io"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// Files that are not read into memory: their bytes go to the Saver as they
// come. A conversion of line ends is made by reading the file twice. One by a
// filter, of an encoding or of keywords needs the whole file in memory, and is
// not made where it is too large for that.

// A test has smaller ones.
var (
	largeBytesMin  int64 = 16 << 20 // above it nothing is read whole without need
	memoryBytesMax int64 = 1 << 30  // above it nothing is read whole at all
)

func errTooLarge() error {
	return fmt.Errorf("too large to be converted for git: more than %d MiB", memoryBytesMax>>20)
}

// stream is [attempt.keep] for a large file.
func (c *content) stream(r *fileReader) (whole bool, err error) {
	it := &c.it
	lines, seen := &attr.Lines{}, io.Reader(io.LimitReader(r, c.size))
	if c.git && !c.identity && c.v.LinesOnly() {
		seen = io.TeeReader(seen, lines)
	}
	it.Raw, err = c.cfg.Save.Blob(c.ctx, seen, c.size, c.base())
	if r.err != nil || r.n < c.size {
		it.Raw = oid.ID{}
		return false, c.ctx.Err()
	}
	if err != nil || !c.git {
		return true, err
	}
	whole = true
	if !c.formKnown() {
		it.Flags |= stattable.Converted
		if c.v.LinesOnly() {
			whole, err = c.convertLines(r, lines)
		} else {
			whole, err = c.convertWhole(r)
		}
	}
	if !c.sure {
		c.expect(c.e)
	}
	return whole, err
}

// convertLines reads the file a second time if its line ends are to be
// converted. Whole is false if it had other line ends then.
func (c *content) convertLines(r *fileReader, lines *attr.Lines) (whole bool, err error) {
	convert, err := c.v.Converts(lines, c.indexHasCR(c.n, c.candidate))
	if err != nil {
		return true, c.unconverted(err)
	}
	if !convert || lines.CRLF() == 0 {
		return true, nil
	}
	if r.err = r.f.Rewind(); r.err != nil {
		return false, c.ctx.Err()
	}
	from, again := r.n, &attr.Lines{}
	exact := &exactReader{r: attr.CRLFReader(io.TeeReader(io.LimitReader(r, c.size), again)), left: c.size - lines.CRLF()}
	id, err := c.cfg.Save.Blob(c.ctx, exact, exact.left, oid.ID{})
	if r.err != nil || exact.short || r.n-from < c.size || *again != *lines {
		c.it.Raw = oid.ID{}
		return false, c.ctx.Err()
	}
	c.it.Git = id
	return true, err
}

// convertWhole converts a file that fits into memory.
func (c *content) convertWhole(r *fileReader) (whole bool, err error) {
	if c.size > memoryBytesMax {
		c.tooLarge(c.candidate)
		c.it.Git = oid.ID{}
		return true, nil
	}
	if r.err = r.f.Rewind(); r.err != nil {
		return false, c.ctx.Err()
	}
	raw := make([]byte, c.size)
	if _, err := io.ReadFull(r, raw); err != nil || c.cfg.Algorithm.Sum(oid.Blob, raw) != c.it.Raw {
		c.it.Raw = oid.ID{}
		return false, c.ctx.Err()
	}
	return true, c.convert(c.v, raw)
}

// tooLarge names a file that is not converted. To try it again would not help.
func (w *worker) tooLarge(c *candidate) {
	w.note(c.into, stattable.Note{Name: c.name, Reason: errTooLarge().Error(), Kept: true})
}

// An exactReader gives exactly as many bytes as were announced, or an error: a
// file may change between two readings, and the Saver takes that for ours.
type exactReader struct {
	r     io.Reader
	left  int64
	short bool
}

func (e *exactReader) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		e.short = true
		return n, io.ErrUnexpectedEOF
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}
