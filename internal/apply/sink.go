package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// bufferBytesMax is up to where content that comes in pieces is held and checked in memory,
// so that a small file costs one write. Larger content goes to the new file, and is
// checked by reading that, unless the Source has done so.
const bufferBytesMax = 1 << 20

// directBytes is from how many bytes on the first piece goes to a direct sink's file at once:
// most contents come whole, and to hold them would copy them.
const directBytes = 8 << 10

// A sink receives a content from the Source, and makes a new file of it. It is for one
// step at a time.
type sink struct {
	alg  oid.Algorithm
	dir  *dirfd.Dir
	name string
	perm tree.Mode
	act  func(op string, change func() error) error // makes each change; nil: it is just made
	buf  []byte
	file *dirfd.Temp // nil until the content outgrew buf, or flush

	direct bool // the file has a temporary name, so that it may have what was not checked yet
}

var sinks = sync.Pool{New: func() any { return new(sink) }}

// newSink returns a sink with the buffer of one that was put back into sinks.
func newSink(alg oid.Algorithm, dir *dirfd.Dir, name string, perm tree.Mode) *sink {
	k := sinks.Get().(*sink)
	*k = sink{alg: alg, dir: dir, name: name, perm: perm, buf: k.buf[:0]}
	return k
}

func (k *sink) do(op string, change func() error) error {
	if k.act == nil {
		return change()
	}
	return k.act(op, change)
}

// Write implements [io.Writer] for the Source.
func (k *sink) Write(p []byte) (n int, err error) {
	if direct := k.direct && len(k.buf) == 0 && len(p) >= directBytes; k.file == nil && !direct && len(k.buf)+len(p) <= bufferBytesMax {
		k.buf = append(k.buf, p...)
		return len(p), nil
	}
	if err := k.flush(); err != nil {
		return 0, err
	}
	err = k.do("write", func() (err error) {
		n, err = k.file.Write(p)
		return err
	})
	return n, err
}

// fill asks a Source for a content, and checks what the Source has not checked.
func (k *sink) fill(ctx context.Context, src Source, id oid.ID) error {
	checked, err := src(ctx, id, k)
	if err != nil || checked {
		return err
	}
	return k.check(id)
}

// check compares what was written with its id.
func (k *sink) check(want oid.ID) error {
	got := k.alg.Sum(oid.Blob, k.buf)
	if k.file != nil {
		st, err := k.file.Stat()
		if err != nil {
			return err
		}
		if got, err = idAt(k.alg, k.dir, k.name, st); err != nil {
			return err
		}
	}
	if got != want {
		return fmt.Errorf("%w: %v instead of %v", ErrContent, got, want)
	}
	return nil
}

// flush makes the new file, if there is none yet, and writes what is held.
func (k *sink) flush() error {
	if k.file != nil {
		return nil
	}
	err := k.do("create", func() (err error) {
		// The owner must be able to read it back; what is wanted is set later.
		k.file, err = k.dir.Create(k.name, k.perm&0o777|0o600)
		return err
	})
	if err != nil || len(k.buf) == 0 {
		return err
	}
	return k.do("write", func() error {
		_, err := k.file.Write(k.buf)
		return err
	})
}

// tooLong ends a sink whose content was to be a link, and is so long that it went to a file.
func (k *sink) tooLong(err error) error {
	if k.file == nil {
		return err
	}
	return errors.Join(err, k.file.Close(), syscall.ENAMETOOLONG)
}
