package apply

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// bufferBytesMax is up to where content is held and checked in memory, so that
// a small file costs one write. Larger content goes to the fresh file and is
// checked by reading that.
const bufferBytesMax = 1 << 20

// A sink receives content from the Source. It is for one step at a time.
type sink struct {
	place *place
	perm  tree.Mode
	buf   []byte
	file  *dirfd.Temp // nil until the content outgrew buf, or flush
}

func (a *applier) sink(p *place) *sink {
	k, ok := a.bufs.Get().(*sink)
	if !ok {
		k = &sink{}
	}
	*k = sink{place: p, buf: k.buf[:0]}
	return k
}

// Write implements [io.Writer] for the Source.
func (k *sink) Write(p []byte) (int, error) {
	if k.file == nil && len(k.buf)+len(p) <= bufferBytesMax {
		k.buf = append(k.buf, p...)
		return len(p), nil
	}
	if k.file == nil {
		if err := k.flush(); err != nil {
			return 0, err
		}
	}
	n := 0
	err := k.place.act("write", func() (err error) {
		n, err = k.file.Write(p)
		return err
	})
	return n, err
}

// fill asks the Source for a content and checks it.
func (k *sink) fill(ctx context.Context, id oid.ID) error {
	if err := k.place.a.src(ctx, id, k); err != nil {
		return err
	}
	var got oid.ID
	if k.file == nil {
		got = k.place.a.Alg.Sum(oid.Blob, k.buf)
	} else {
		st, err := k.file.Stat()
		if err != nil {
			return err
		}
		if got, err = k.place.id(k.place.temp(fresh), st); err != nil {
			return err
		}
	}
	if got != id {
		return fmt.Errorf("%w: %v instead of %v", ErrContent, got, id)
	}
	return nil
}

// flush makes the fresh file, if there is none yet, and writes what is held.
func (k *sink) flush() error {
	if k.file != nil {
		return nil
	}
	err := k.place.act("create", func() (err error) {
		// The owner must be able to read it back; dress sets what is wanted.
		k.file, err = k.place.dir.Create(k.place.temp(fresh), k.perm&0o777|0o600)
		return err
	})
	if err != nil || len(k.buf) == 0 {
		return err
	}
	return k.place.act("write", func() error {
		_, err := k.file.Write(k.buf)
		return err
	})
}
