package objects

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Has reports whether the store or git has an object. If the store cannot be read,
// Has takes it for empty.
func (o *Objects) Has(ctx context.Context, id oid.ID) bool {
	if o.InGit(id) {
		return true
	}
	found := false
	if s, err := o.Store(ctx); err == nil && s != nil {
		_ = s.View(ctx, func(v *cas.View) error {
			found = v.Has(id)
			return nil
		})
	}
	return found
}

// InGit reports whether git has an object now. Git may drop it at any time, unless
// a ref keeps it. InGit is false for an object that git could not give before, see
// [Objects.Distrust].
func (o *Objects) InGit(id oid.ID) bool {
	if o.Git == nil || !o.Git.Has(id) {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.broken[id]
}

// Distrust notes that git lists an object and cannot give it.
func (o *Objects) Distrust(id oid.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken == nil {
		o.broken = map[oid.ID]bool{}
	}
	o.broken[id] = true
}

// TrustAgain forgets what Distrust noted: the objects may be whole again.
func (o *Objects) TrustAgain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken = nil
}

// Distrusts reports whether Distrust has noted any object.
func (o *Objects) Distrusts() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.broken) > 0
}

// Sizes is [gitbridge.Repo.Sizes], with -1 for objects that git cannot give.
func (o *Objects) Sizes(n int, id func(i int) []byte, sizes []int64) {
	o.Git.Sizes(n, id, sizes)
	if !o.Distrusts() {
		return
	}
	for i := range n {
		if x, err := oid.FromBytes(id(i)); err != nil || !o.InGit(x) {
			sizes[i] = -1
		}
	}
}

// Stat returns the kind and size of an object.
func (o *Objects) Stat(ctx context.Context, id oid.ID) (kind oid.Kind, size int64, err error) {
	s, err := o.Store(ctx)
	if err != nil {
		return 0, 0, err
	}
	if s != nil {
		err = s.View(ctx, func(v *cas.View) error {
			kind, size, err = v.Stat(id)
			return err
		})
		if !errors.Is(err, cas.ErrNotFound) {
			return kind, size, StoreError(err)
		}
	}
	if o.Git == nil {
		return 0, 0, missing(id)
	}
	from, err := o.Git.Stream(id)
	if err != nil {
		return 0, 0, gitError(id, err)
	}
	return from.Kind, from.Size, from.Data.Close()
}

// readAllBack is [Objects.readBack] for many objects, of which the small ones are
// read some at a time, as they lie in the store. It returns what is wrong with each; once
// the context has ended, what it did not come to is said to be fine.
func (o *Objects) readAllBack(ctx context.Context, ids []oid.ID) []error {
	bad := make([]error, len(ids))
	order, places := o.nearby(ctx, ids)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(ids)+batchObjects-1)/batchObjects) {
		workers.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(batchObjects)) - batchObjects
				if from >= len(ids) {
					return
				}
				o.readSomeBack(ctx, ids, places, order[from:min(from+batchObjects, len(ids))], bad)
			}
		})
	}
	workers.Wait()
	return bad
}

// nearby is [cas.Store.Nearby]; any order will do.
func (o *Objects) nearby(ctx context.Context, ids []oid.ID) (order []int, places []cas.Place) {
	if s, err := o.Store(ctx); err == nil && s != nil {
		order, places, _ = s.Nearby(ctx, ids)
		return order, places
	}
	for i := range ids {
		order = append(order, i)
	}
	return order, make([]cas.Place, len(ids))
}

// readSomeBack reads some objects: the small ones of the store under one lock, and then
// the others.
func (o *Objects) readSomeBack(ctx context.Context, ids []oid.ID, places []cas.Place, some []int, bad []error) {
	read, buf := make([]bool, len(some)), make([]byte, 0, prefetchBytes)
	if s, err := o.Store(ctx); err == nil && s != nil {
		_ = s.View(ctx, func(v *cas.View) error {
			for n, i := range some {
				size, err := places[i].Size(), error(nil)
				if size < 0 {
					_, size, err = v.Stat(ids[i])
				}
				if err == nil && size <= prefetchBytes {
					_, _, err = v.ObjectAt(ids[i], places[i], buf)
					read[n], bad[i] = true, StoreError(err)
				}
			}
			return nil
		})
	}
	for n, i := range some {
		if !read[n] && ctx.Err() == nil {
			bad[i] = o.readBack(ctx, ids[i])
		}
	}
}

// readBack reads an object to its end and compares it with its id. It reads from
// where a restore reads: the store, or git if the store has it not.
func (o *Objects) readBack(ctx context.Context, id oid.ID) error {
	s, err := o.Store(ctx)
	if err != nil {
		return err
	}
	if s != nil {
		_, _, err := s.WriteTo(ctx, io.Discard, id)
		if !errors.Is(err, cas.ErrNotFound) {
			return StoreError(err)
		}
	}
	if o.Git == nil {
		return missing(id)
	}
	from, err := o.Git.Stream(id)
	if err != nil {
		return gitError(id, err)
	}
	defer from.Data.Close()
	if _, err := io.Copy(io.Discard, from.Data); err != nil { // it is compared as it is read
		return gitError(id, err)
	}
	return nil
}
