package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// copy puts objects that the store lacks into the stage, from memory or from git.
// If git cannot give one, the snapshot begins again, and its scan reads the file
// from disk.
func (h *Held) copy(ctx context.Context, lacking []tree.Need, err error) error {
	if err != nil || len(lacking) == 0 {
		return err
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	failed := make([]error, len(lacking)) // all of them: each bad object is to be found
	for range min(runtime.GOMAXPROCS(0), len(lacking)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(lacking) && ctx.Err() == nil; i = next.Add(1) - 1 {
				failed[i] = h.copyOne(ctx, lacking[i])
			}
		})
	}
	workers.Wait()
	for i, n := range lacking {
		if err := failed[i]; err != nil {
			failed[i] = h.gone(ctx, n, err)
		}
	}
	return errors.Join(ctx.Err(), errors.Join(failed...))
}

func (h *Held) copyOne(ctx context.Context, n tree.Need) error {
	o := gitodb.Object{Kind: n.Kind}
	if p, ok := h.Memory.Tree(n.ID); ok {
		o = gitodb.Payload(oid.Tree, p)
	} else {
		if h.m.Objects.Git == nil {
			return fmt.Errorf("%w: it was in the store", cas.ErrSwept)
		}
		var err error
		if o, err = h.m.git().Stream(n.ID); err != nil {
			return fmt.Errorf("%w: %w", errNotGits, err)
		}
	}
	from := &sourceReader{r: o.Data}
	id, err := h.Stage.PutReader(ctx, o.Kind, from, o.Size, oid.ID{})
	err = errors.Join(err, o.Data.Close())
	switch {
	case from.err != nil || errors.Is(err, cas.ErrSize):
		return fmt.Errorf("%w: %w", errNotGits, err)
	case err == nil && (id != n.ID || o.Kind != n.Kind):
		return fmt.Errorf("%w: it has other bytes", errNotGits)
	}
	return objects.StoreError(err)
}

var errNotGits = errors.New("git cannot give it")

// A sourceReader notes why its source could not be read. So an error of the reader can be told
// from one of the stage.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// gone makes the error of an object that could not be copied. If git cannot give
// it, the snapshot begins again, and the scan reads it from disk. The file may not
// be on disk: a sparse checkout of a partial clone lacks it, and git would fetch it
// when needed. That is no error, and the snapshot does not claim to have it.
func (h *Held) gone(ctx context.Context, n tree.Need, err error) error {
	if ctx.Err() != nil || !errors.Is(err, errNotGits) {
		return err
	}
	if n.Kind == oid.Blob {
		_, there, lookErr := tree.Lookup(h.State, n.Path, h.m.Objects.Algorithm, h.Trees)
		if lookErr != nil || !there {
			return objects.TreeError(lookErr)
		}
	}
	h.m.Objects.Distrust(n.ID)
	return fmt.Errorf("%w: %s: %w", cas.ErrSwept, n.Path, err)
}
