package fork

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A copying is one file or link on its way.
type copying struct {
	ctx      context.Context
	from, to *dirfd.Dir
	name     string
	copies   bool // contents that cannot be shared are copied
	taken    func(string)
	mode     func(tree.Mode) tree.Mode // which permissions a file gets for those that it has

	made, shared bool
	bytes        int64
}

// tries is how often a file is taken that changes meanwhile.
const tries = 3

// The reasons why something is named.
var (
	errThere       = errors.New("something is there already")
	errGone        = errors.New("it is gone meanwhile")
	errInWay       = errors.New("something else stands there")
	errAnother     = errors.New("something else stands there meanwhile")
	errNoDirectory = errors.New(noDirectory)
	errUnshared    = errors.New("its content cannot be shared, and was not to be copied (--ignored=copy)")
	errMoving      = errors.New("it kept changing; its last state was taken")
)

// take makes the file or link. Made may be true beside an error that only names it.
func (c *copying) take(kind tree.Mode) error {
	if kind == tree.Symlink {
		return c.link()
	}
	for try := 1; ; try++ {
		same, err := c.file()
		switch {
		case errors.Is(err, fs.ErrExist):
			return errThere
		case err != nil || same:
			return err
		case try == tries:
			return errMoving
		}
		if err := c.to.Remove(c.name); err != nil {
			return err
		}
		c.made, c.shared, c.bytes = false, false, 0
	}
}

func (c *copying) link() error {
	st, err := c.from.Lstat(c.name)
	if err == nil && st.Mode.Type() != tree.Symlink {
		err = errAnother
	}
	target := ""
	if err == nil {
		target, err = c.from.Readlink(c.name)
	}
	if err != nil {
		return gone(err)
	}
	if err := c.to.Symlink(target, c.name); errors.Is(err, fs.ErrExist) {
		return errThere
	} else if err != nil {
		return writeError{err}
	}
	c.made = true
	return c.to.SetMtime(c.name, st.Mtime)
}

// file takes a file once. Same: it did not change meanwhile.
func (c *copying) file() (same bool, err error) {
	old, err := c.from.OpenFile(c.name)
	if err != nil {
		return false, gone(err)
	}
	defer old.Close()
	before, err := old.Stat()
	if err == nil && before.Mode.Type() != tree.File {
		err = errAnother
	}
	if err != nil {
		return false, err
	}
	fresh, err := c.to.Create(c.name, 0o600)
	if err != nil {
		return false, writeError{err}
	}
	if err = c.content(fresh, old, before.Size); err == nil {
		if c.taken != nil {
			c.taken(c.name)
		}
		fresh.CopyAttrs(old)
		err = fresh.Chmod(c.mode(before.Mode.Perm() & 0o777))
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = c.to.SetMtime(c.name, before.Mtime)
	}
	if err != nil {
		return false, errors.Join(err, c.to.Remove(c.name))
	}
	c.made = true
	after, err := old.Stat()
	return err != nil || before.Same(&after), nil
}

// content shares the content of a file, or copies it.
func (c *copying) content(fresh *dirfd.Temp, old *dirfd.File, size int64) error {
	err := fresh.Clone(old)
	switch {
	case err == nil:
		st, err := fresh.Stat()
		c.shared, c.bytes = true, st.Size
		return err
	case !errors.Is(err, errors.ErrUnsupported):
		return writeError{err}
	case !c.copies && size > 0:
		return errUnshared
	}
	return c.copy(fresh, old, size)
}

// copy copies what a file keeps of its content, and leaves its holes. The copy is as long
// as the file was, unless that became shorter while it was read.
func (c *copying) copy(fresh *dirfd.Temp, old *dirfd.File, size int64) error {
	buf := make([]byte, min(size, 1<<20))
	for off := int64(0); off < size; {
		from, to, err := old.Data(off)
		if err != nil {
			return err
		}
		if from >= to { // nothing but a hole is left, or less than there was
			break
		}
		for off = from; off < min(to, size); {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			n, err := old.ReadAt(buf[:min(int64(len(buf)), to-off, size-off)], off)
			if n == 0 && errors.Is(err, io.EOF) {
				size = off
				break
			}
			if n == 0 {
				return err
			}
			if _, err := fresh.WriteAt(buf[:n], off); err != nil {
				return writeError{err}
			}
			off += int64(n)
		}
	}
	c.bytes = size
	if err := fresh.Truncate(size); err != nil {
		return writeError{err}
	}
	return nil
}

// gone says in fewer words that nothing is there any more.
func gone(err error) error {
	if dirfd.Gone(err) {
		return errGone
	}
	return err
}
