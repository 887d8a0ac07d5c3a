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
func (a *attempt) stream(r *fileReader, size int64) (whole bool, err error) {
	it := &a.it
	lines, seen := &attr.Lines{}, io.Reader(io.LimitReader(r, size))
	if a.git && !a.identity && a.v.LinesOnly() {
		seen = io.TeeReader(seen, lines)
	}
	it.Raw, err = a.cfg.Save.Blob(a.ctx, seen, size, a.base())
	if r.err != nil || r.n < size {
		it.Raw = oid.ID{}
		return false, a.ctx.Err()
	}
	if err != nil || !a.git {
		return true, err
	}
	whole = true
	if !a.cleanKnown() {
		it.Flags |= stattable.Converted
		if a.v.LinesOnly() {
			whole, err = a.convertLines(r, size, lines)
		} else {
			whole, err = a.convertWhole(r, size)
		}
	}
	a.expect()
	return whole, err
}

// convertLines reads the file a second time if its line ends are to be
// converted. Whole is false if it had other line ends then.
func (a *attempt) convertLines(r *fileReader, size int64, lines *attr.Lines) (whole bool, err error) {
	convert, err := a.v.Converts(lines, a.indexHasCR(a.n, a.candidate))
	if err != nil {
		return true, a.unconverted(err)
	}
	if !convert || lines.CRLF() == 0 {
		return true, nil
	}
	if r.err = r.f.Rewind(); r.err != nil {
		return false, a.ctx.Err()
	}
	from, again := r.n, &attr.Lines{}
	exact := &exactReader{r: attr.CRLFReader(io.TeeReader(io.LimitReader(r, size), again)), left: size - lines.CRLF()}
	id, err := a.cfg.Save.Blob(a.ctx, exact, exact.left, oid.ID{})
	if r.err != nil || exact.short || r.n-from < size || *again != *lines {
		a.it.Raw = oid.ID{}
		return false, a.ctx.Err()
	}
	a.it.Git = id
	return true, err
}

// convertWhole converts a file that fits into memory.
func (a *attempt) convertWhole(r *fileReader, size int64) (whole bool, err error) {
	if size > memoryBytesMax {
		a.tooLarge(a.candidate)
		a.it.Git = oid.ID{}
		return true, nil
	}
	if r.err = r.f.Rewind(); r.err != nil {
		return false, a.ctx.Err()
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(r, raw); err != nil || a.cfg.Algorithm.Sum(oid.Blob, raw) != a.it.Raw {
		a.it.Raw = oid.ID{}
		return false, a.ctx.Err()
	}
	return true, a.convert(raw)
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
