package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An attempt is one look at a candidate, and its reading between two looks.
type attempt struct {
	*worker
	*candidate
	n    *node
	dir  *dirfd.Dir
	st   dirfd.Stat
	it   stattable.Item
	last bool // there will be no other

	stored bool // its pages may be stored to without a trace
	quiet  bool // nobody can write to it without one

	// What is known of its bytes when they are read.
	git      bool            // it belongs into the git tree
	v        attr.Conversion // what git makes of it
	identity bool            // that is no conversion
	e        *gitindex.Entry // what git takes the file for, nil if nothing
	sure     bool            // that git does so
}

// An ending says how an attempt ended.
type ending uint8

const (
	moved    ending = iota // changed under our eyes: try again
	recorded               // the item is complete
	leftOut                // a note says why
)

// read reads a file or a link. After the last attempt it does not end as moved.
func (a *attempt) read() (ending, error) {
	if a.st.Mode.Type() == tree.Symlink {
		return a.readLink()
	}
	f, err := a.dir.OpenFile(a.name)
	if err != nil {
		if dirfd.Gone(err) || errors.Is(err, syscall.ELOOP) {
			return a.giveUp(reason(err)) // the next look at it decides
		}
		a.leaveOut(a.candidate, reason(err))
		return leftOut, nil
	}
	defer f.Close()
	a.count.Opened++
	began := a.now()
	before, err := f.Stat()
	if err != nil || before.Mode.Type() != tree.File {
		return a.giveUp(torn)
	}
	if !before.Same(&a.st) { // another file has the name, or it has other permissions
		var ok bool
		a.st = before
		if a.it, ok = a.place(a.n, a.candidate, &before); !ok {
			return leftOut, nil
		}
	}
	if a.cfg.sleep != nil {
		a.cfg.sleep(tree.Join(a.n.path, a.name))
	}
	a.quiet, a.stored = a.ask(f, &before, began)
	whole, err := a.keep(f, &before)
	if err != nil {
		return moved, err
	}
	after, err := f.Stat()
	if err == nil && whole && before.Same(&after) {
		if before.Size == 0 && hasBytes(f) {
			return a.giveUp(untold)
		}
		a.st = before
		a.settle(began)
		return recorded, nil
	}
	if !a.last || a.it.Raw.IsZero() {
		return a.giveUp(torn)
	}
	a.st = before
	if err == nil && a.closed(a.n, a.candidate, &after) { // these may be the bytes that it was closed for
		a.it.Flags, a.it.Git = a.it.Flags|stattable.OverlayOnly, oid.ID{}
	}
	a.it.Flags |= stattable.Young
	a.doubt(a.now())
	a.unstable()
	return recorded, nil
}

// hasBytes reports whether a file that says that it is empty is not. Such are those of
// the kernel, and of some file systems of programs, of which nobody knows how long they
// are before they are read, nor when they change.
func hasBytes(f *dirfd.File) bool {
	var one [1]byte
	n, _ := f.Read(one[:])
	return n > 0
}

// giveUp ends an attempt that led to nothing.
func (a *attempt) giveUp(why string) (ending, error) {
	if !a.last {
		return moved, nil
	}
	a.leaveOut(a.candidate, why)
	return leftOut, nil
}

func (a *attempt) readLink() (ending, error) {
	target, err := a.dir.Readlink(a.name)
	if err != nil {
		return a.giveUp(reason(err))
	}
	after, err := a.dir.Lstat(a.name)
	if err != nil || !a.st.Same(&after) {
		if !a.last {
			return moved, nil
		}
		a.it.Flags |= stattable.Young
		a.unstable()
	}
	a.count.ReadBytes += int64(len(target))
	a.it.Git, a.it.Flags = oid.ID{}, a.it.Flags&^stattable.Converted
	a.it.Raw, err = a.cfg.Save.Blob(a.ctx, strings.NewReader(target), int64(len(target)), a.base())
	if inGit(a.n, &a.it) {
		a.it.Git = a.it.Raw
	}
	return recorded, err
}

func (a *attempt) unstable() {
	a.tell(func(r *Result) { r.Unstable = append(r.Unstable, tree.Join(a.n.path, a.name)) })
}

// base is an earlier content of the file.
func (c *candidate) base() oid.ID {
	if c.old != nil {
		return c.old.Raw
	}
	return c.tracked.id
}

// keep gives the content of a file to the Saver. It sets the item's ids, and
// reports whether as many bytes were there as the file's size said.
func (a *attempt) keep(f *dirfd.File, st *dirfd.Stat) (whole bool, err error) {
	it := &a.it
	it.Git, it.Raw, it.Flags = oid.ID{}, oid.ID{}, it.Flags&^stattable.Converted
	a.git, a.identity, a.e, a.sure = inGit(a.n, it), true, nil, false
	if a.git {
		a.v, a.identity = a.conversion(a.n, a.name)
		a.e, a.sure = a.unchanged(a.n, a.candidate, st)
	}
	r := &fileReader{ctx: a.ctx, f: f}
	defer func() { a.count.ReadBytes += r.n }()
	if st.Size > largeBytesMin || st.Size > smallBytesMax && a.identity && !a.sure {
		return a.stream(r, st.Size)
	}
	raw, whole := a.readWhole(r, st.Size)
	if r.err != nil {
		return false, a.ctx.Err()
	}
	if it.Raw, err = a.blob(raw, a.base()); err != nil || !a.git {
		return whole, err
	}
	if !a.cleanKnown() {
		err = a.convert(raw)
	}
	a.expect()
	return whole, err
}

// cleanKnown sets the id of what git makes of the file, if it is known without a
// conversion.
func (a *attempt) cleanKnown() bool {
	it, o := &a.it, a.old // what it has for git is the same conversion's, unless it was the index's, or a link's
	switch {
	case a.sure && (a.e.ID != it.Raw || !a.identity):
		it.Git, it.Flags = a.e.ID, it.Flags|stattable.Converted
	case o != nil && o.Mode.Type() == tree.File && o.Raw == it.Raw && !o.Git.IsZero() && a.sameAttrs && a.sameIndex && a.n.sinceIndex(o.Mtime):
		it.Git, it.Flags = o.Git, it.Flags|o.Flags&stattable.Converted
	default:
		it.Git = it.Raw
		return a.identity
	}
	return true
}

// expect has a file read again by the next scan, with the index at hand, if git
// would keep another id of it, that of an index entry, once an index is old
// enough.
func (a *attempt) expect() {
	if !a.sure && a.e != nil && a.e.ID != a.it.Git {
		a.it.Flags |= stattable.Young | stattable.Converted
	}
}

// readWhole reads up to size bytes into the worker's buffer.
func (w *worker) readWhole(r *fileReader, size int64) (raw []byte, whole bool) {
	if int64(cap(w.buf)) < size {
		w.buf = make([]byte, max(size, bufBytesMin, min(4*int64(cap(w.buf)), bufBytesNext)))
	}
	n, _ := io.ReadFull(r, w.buf[:size])
	return w.buf[:n], int64(n) == size
}

func (w *worker) blob(p []byte, base oid.ID) (oid.ID, error) {
	return w.cfg.Save.Blob(w.ctx, bytes.NewReader(p), int64(len(p)), base)
}

// convert sets the id of what git makes of a file.
func (a *attempt) convert(raw []byte) error {
	a.it.Flags |= stattable.Converted
	cleaned, err := a.clean(a.n, a.candidate, a.v, raw)
	switch {
	case err != nil:
		return a.unconverted(err)
	case bytes.Equal(cleaned, raw):
		return nil
	}
	a.it.Git, err = a.blob(cleaned, oid.ID{})
	return err
}

// unconverted leaves a file out of git's tree, with the reason; the next scan
// tries again.
func (a *attempt) unconverted(why error) error {
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	a.it.Git = oid.ID{}
	a.into.head.Flags |= stattable.Retry
	a.note(a.into, stattable.Note{Name: a.name, Reason: why.Error(), Kept: true})
	return nil
}

// A fileReader remembers its own errors, so that they are told from the
// Saver's, and stops when the scan does.
type fileReader struct {
	ctx context.Context
	f   *dirfd.File
	n   int64
	err error
}

func (r *fileReader) Read(p []byte) (int, error) {
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	n, err := r.f.Read(p)
	r.n += int64(n)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
