// Package objects reads objects from wherever they are: the store, or git. It
// tells an object that is nowhere, or has other bytes than its id says, from one
// that cannot be read now: the first is [records.ErrDamaged].
//
// That git has an object does not mean that git keeps it; who records something
// must see to that. The package writes nothing.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Objects reads the objects of one store and one repository. Any number of
// goroutines may use it.
type Objects struct {
	Algorithm oid.Algorithm
	Git       *gitbridge.Repo                           // nil without git
	Store     func(context.Context) (*cas.Store, error) // returns nil where there is none yet

	mu     sync.Mutex      // guards broken
	broken map[oid.ID]bool // what git seems to have and could not give
}

// Read returns an object from the store, else from git, also where it is damaged
// in the store.
func (o *Objects) Read(ctx context.Context, id oid.ID) (kind oid.Kind, payload []byte, err error) {
	s, err := o.Store(ctx)
	if err != nil {
		return 0, nil, err
	}
	if s != nil {
		err = s.View(ctx, func(v *cas.View) error {
			kind, payload, err = v.Object(id)
			return err
		})
		if !errors.Is(err, cas.ErrNotFound) && !o.gitInstead(id, err) {
			return kind, payload, StoreError(err)
		}
	}
	return o.fromGit(id)
}

// KeepDecoded is [cas.Store.KeepDecoded], where there is a store.
func (o *Objects) KeepDecoded(ctx context.Context) (forget func()) {
	s, err := o.Store(ctx)
	if err != nil || s == nil {
		return func() {}
	}
	return s.KeepDecoded()
}

func missing(id oid.ID) error {
	return fmt.Errorf("%w: object %v is missing", records.ErrDamaged, id)
}

// gitInstead reports whether git may have what is damaged in the store.
func (o *Objects) gitInstead(id oid.ID, err error) bool {
	return errors.Is(err, cas.ErrCorrupt) && o.InGit(id)
}

// Payload reads an object of a certain kind.
func (o *Objects) Payload(ctx context.Context, want oid.Kind, id oid.ID) ([]byte, error) {
	kind, p, err := o.Read(ctx, id)
	if err == nil && kind != want {
		err = fmt.Errorf("%w: object %v is a %v, not a %v", records.ErrDamaged, id, kind, want)
	}
	return p, err
}

// Small reads a content of at most so many bytes; false: it is larger, or cannot be
// read now.
func (o *Objects) Small(ctx context.Context, id oid.ID, most int64) (payload []byte, ok bool) {
	from, err := o.stream(ctx, id)
	if err != nil {
		return nil, false
	}
	defer from.Data.Close()
	if from.Kind != oid.Blob || from.Size > most {
		return nil, false
	}
	payload, err = io.ReadAll(from.Data)
	return payload, err == nil
}

// fromGit reads an object of git, which is missing where there is none.
func (o *Objects) fromGit(id oid.ID) (oid.Kind, []byte, error) {
	if o.Git == nil {
		return 0, nil, missing(id)
	}
	kind, payload, err := o.Git.Read(id)
	if err != nil {
		return 0, nil, gitError(id, err)
	}
	return kind, payload, nil
}

// Write streams an object, from the store or from git, and reports whether it is a blob. No
// lock is held while w takes it: it may be a pager, or a disk that hangs. It is compared with
// its id; where that fails w may have a beginning.
func (o *Objects) Write(ctx context.Context, w io.Writer, id oid.ID) (blob bool, err error) {
	s, err := o.Store(ctx)
	if err != nil {
		return false, err
	}
	if s != nil {
		kind, n, err := s.WriteTo(ctx, w, id)
		if n > 0 || !errors.Is(err, cas.ErrNotFound) && !o.gitInstead(id, err) {
			return kind == oid.Blob, StoreError(err)
		}
	}
	if o.Git == nil {
		return false, missing(id)
	}
	return o.writeFromGit(ctx, w, id)
}

// Beginning returns a blob, or, if it is longer than max, not the whole but its first
// bytes.
func (o *Objects) Beginning(ctx context.Context, id oid.ID, max int) (p []byte, whole bool, err error) {
	buf := &beginning{max: max}
	_, err = o.Write(ctx, buf, id)
	if errors.Is(err, errLong) {
		return buf.p, false, nil
	}
	return buf.p, true, err
}

// A beginning keeps the first bytes of what is written to it.
type beginning struct {
	p   []byte
	max int
}

var errLong = errors.New("longer than is wanted")

func (b *beginning) Write(p []byte) (int, error) {
	n := min(len(p), b.max-len(b.p))
	b.p = append(b.p, p[:n]...)
	if n < len(p) {
		return n, errLong
	}
	return n, nil
}

// writeFromGit streams an object of git, and reports whether it is a blob. Where that fails w may have a beginning.
func (o *Objects) writeFromGit(ctx context.Context, w io.Writer, id oid.ID) (blob bool, err error) {
	from, err := o.Git.Stream(id)
	if err != nil {
		return false, gitError(id, err)
	}
	defer from.Data.Close()
	if whole, ok := from.Data.(io.WriterTo); ok { // from memory: only the writer can fail
		if err = ctx.Err(); err == nil {
			_, err = whole.WriteTo(w)
		}
		return from.Kind == oid.Blob, err
	}
	r := &failing{ctx: ctx, r: from.Data}
	_, err = io.Copy(w, r)
	if r.err != nil {
		err = gitError(id, r.err)
	}
	return from.Kind == oid.Blob, err
}

// A failing reader tells its own errors from those of the writer that its bytes
// go to, and ends with the context.
type failing struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// streamBytes is from what size on a content is passed on in pieces.
const streamBytes = 1 << 20

// stream opens an object of the store or of git, which need not fit into memory.
func (o *Objects) stream(ctx context.Context, id oid.ID) (out gitbridge.Object, err error) {
	s, err := o.Store(ctx)
	if err != nil {
		return out, err
	}
	if s == nil {
		return out, fmt.Errorf("%w: %w", cas.ErrNotFound, missing(id))
	}
	var payload []byte
	err = s.View(ctx, func(v *cas.View) (err error) {
		if out.Kind, out.Size, err = v.Stat(id); err == nil && out.Size < streamBytes {
			_, payload, err = v.Object(id)
		}
		return err
	})
	switch {
	case o.Git != nil && (errors.Is(err, cas.ErrNotFound) || o.gitInstead(id, err)):
		if out, gitErr := o.Git.Stream(id); gitErr == nil {
			return out, nil
		}
		return gitbridge.Object{}, StoreError(err)
	case err != nil:
		return gitbridge.Object{}, StoreError(err)
	case out.Size < streamBytes:
		return gitodb.Payload(out.Kind, payload), nil
	}
	r, w := io.Pipe()
	go func() {
		_, err := o.Write(ctx, w, id)
		w.CloseWithError(err)
	}()
	out.Data = r
	return out, nil
}

// Source gives objects of the store to git, in about the order of ids.
func (o *Objects) Source(ctx context.Context, ids []oid.ID) gitodb.Source {
	prefetch := o.Prefetch(ids)
	return func(id oid.ID) (gitbridge.Object, error) { return prefetch.Stream(ctx, id) }
}

// Reading says how trees are read.
type Reading struct {
	Staged   func(oid.ID) ([]byte, bool) // trees in memory, which come first; may be nil
	GitFirst bool                        // git is asked before the store: it has nearly every tree of a snapshot, and no lock that would have to be taken for each
	In       *cas.View                   // for who has the store open already
	Once     bool                        // nothing is remembered: for walks that meet each tree once
}

// Trees returns a loader of trees, for any number of goroutines, but for one where the store
// is open. It remembers what it has read: one operation meets the same directories more
// than once, also at the same time.
func (o *Objects) Trees(ctx context.Context, how Reading) tree.Loader {
	var mu sync.Mutex // guards seen
	seen, empty := map[oid.ID]func() ([]byte, error){}, o.emptyTree()
	together := how.In == nil && (o.Git == nil || !how.GitFirst)
	return func(id oid.ID, soon ...oid.ID) ([]byte, error) {
		if id == empty {
			return nil, nil
		}
		if how.Once {
			return o.tree(ctx, how, id)
		}
		mu.Lock()
		if together && len(soon) > 1 && seen[id] == nil {
			unseen := slices.DeleteFunc(slices.Clone(soon), func(id oid.ID) bool { return seen[id] != nil })
			mu.Unlock()
			read := o.treesTogether(ctx, how, unseen)
			mu.Lock()
			for id, p := range read {
				seen[id] = func() ([]byte, error) { return p, nil }
			}
		}
		read, known := seen[id]
		if !known {
			read = sync.OnceValues(func() ([]byte, error) { return o.tree(ctx, how, id) })
			seen[id] = read
		}
		mu.Unlock()
		p, err := read()
		if err != nil { // the next may have more luck
			mu.Lock()
			defer mu.Unlock()
			delete(seen, id)
		}
		return p, err
	}
}

// treesTogether reads trees of the store under one lock: to take it costs more than to read
// one. What is in memory, or cannot be read so, is left to who asks for it.
func (o *Objects) treesTogether(ctx context.Context, how Reading, ids []oid.ID) map[oid.ID][]byte {
	s, err := o.Store(ctx)
	if err != nil || s == nil {
		return nil
	}
	out := make(map[oid.ID][]byte, len(ids))
	_ = s.View(ctx, func(v *cas.View) error {
		for _, id := range ids {
			if how.Staged != nil {
				if _, ok := how.Staged(id); ok {
					continue
				}
			}
			if kind, p, err := v.Object(id); err == nil && kind == oid.Tree {
				out[id] = p
			}
		}
		return nil
	})
	return out
}

func (o *Objects) tree(ctx context.Context, how Reading, id oid.ID) ([]byte, error) {
	if how.Staged != nil {
		if p, ok := how.Staged(id); ok {
			return p, nil
		}
	}
	if how.GitFirst && o.Git != nil {
		if kind, p, err := o.Git.Read(id); err == nil && kind == oid.Tree {
			return p, nil
		}
	}
	if how.In == nil {
		return o.Payload(ctx, oid.Tree, id)
	}
	kind, p, err := o.ReadIn(how.In, id)
	if err == nil && kind != oid.Tree {
		err = fmt.Errorf("%w: object %v is a %v, not a tree", records.ErrDamaged, id, kind)
	}
	return p, err
}

// ReadIn is [Objects.Read] for who has the store open already.
func (o *Objects) ReadIn(v *cas.View, id oid.ID) (kind oid.Kind, payload []byte, err error) {
	kind, payload, err = v.Object(id)
	if o.Git != nil && (errors.Is(err, cas.ErrNotFound) || o.gitInstead(id, err)) {
		return o.fromGit(id)
	}
	return kind, payload, StoreError(err)
}

// emptyTree returns the id of a tree that holds nothing. Neither the store nor
// git need have it.
func (o *Objects) emptyTree() oid.ID { return o.Algorithm.Sum(oid.Tree, nil) }
