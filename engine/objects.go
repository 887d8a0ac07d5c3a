package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// object reads an object from the store, else from git, also where it is damaged
// in the store.
func (e *Engine) object(ctx context.Context, id oid.ID) (kind oid.Kind, payload []byte, err error) {
	if s := e.opened(); s != nil {
		err = s.View(ctx, func(v *cas.View) error {
			kind, payload, err = v.Object(id)
			return err
		})
		if !errors.Is(err, cas.ErrNotFound) && !e.gitInstead(id, err) {
			return kind, payload, storeError(err)
		}
	}
	if e.repo != nil {
		return e.fromGit(id)
	}
	return 0, nil, fmt.Errorf("%w: object %v is missing", ErrDamaged, id)
}

// gitInstead reports whether git may have what is damaged in the store.
func (e *Engine) gitInstead(id oid.ID, err error) bool {
	return errors.Is(err, cas.ErrCorrupt) && e.inGit(id)
}

// payload reads an object of a certain kind.
func (e *Engine) payload(ctx context.Context, want oid.Kind, id oid.ID) ([]byte, error) {
	kind, p, err := e.object(ctx, id)
	if err == nil && kind != want {
		err = fmt.Errorf("%w: object %v is a %v, not a %v", ErrDamaged, id, kind, want)
	}
	return p, err
}

func (e *Engine) fromGit(id oid.ID) (oid.Kind, []byte, error) {
	kind, payload, err := e.repo.Read(id)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: object %v: %w", ErrDamaged, id, err)
	}
	return kind, payload, nil
}

// write streams a blob, from the store or from git. No lock is held while w
// takes it: it may be a pager, or a disk that hangs.
func (e *Engine) write(ctx context.Context, w io.Writer, id oid.ID) error {
	if s := e.opened(); s != nil {
		n, err := s.WriteTo(ctx, w, id)
		if n > 0 || !errors.Is(err, cas.ErrNotFound) && !e.gitInstead(id, err) {
			return storeError(err)
		}
	}
	if e.repo == nil {
		return fmt.Errorf("%w: object %v is missing", ErrDamaged, id)
	}
	return e.writeFromGit(ctx, w, id)
}

// writeFromGit streams a blob of git. Where that fails w may have a beginning.
func (e *Engine) writeFromGit(ctx context.Context, w io.Writer, id oid.ID) error {
	o, err := e.repo.Stream(id)
	if err != nil {
		return fmt.Errorf("%w: object %v: %w", ErrDamaged, id, err)
	}
	defer o.Data.Close()
	r := &failing{ctx: ctx, r: o.Data}
	_, err = io.Copy(w, r)
	if r.err != nil {
		return fmt.Errorf("%w: object %v: %w", ErrDamaged, id, r.err)
	}
	return err
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

// A forest is trees in memory, by id.
type forest map[oid.ID][]byte

// loader returns trees from staged (which may be nil), the store and git, in
// that order, and remembers them: one operation meets the same directories more
// than once.
func (e *Engine) loader(ctx context.Context, staged func(oid.ID) ([]byte, bool)) tree.Loader {
	seen := make(forest)
	empty := e.alg.Sum(oid.Tree, nil)
	return func(id oid.ID) ([]byte, error) {
		if id == empty {
			return nil, nil
		}
		if p, ok := seen[id]; ok {
			return p, nil
		}
		if staged != nil {
			if p, ok := staged(id); ok {
				seen[id] = p
				return p, nil
			}
		}
		p, err := e.payload(ctx, oid.Tree, id)
		if err != nil {
			return nil, err
		}
		seen[id] = p
		return p, nil
	}
}

// treesOfGit returns trees of the capture, of git and of the store. It asks git
// first, which has nearly every tree of a snapshot and no lock that would have
// to be taken for each.
func (c *capture) treesOfGit(ctx context.Context) tree.Loader {
	load := c.loader(ctx)
	if c.e.repo == nil {
		return load
	}
	seen := make(forest)
	return func(id oid.ID) ([]byte, error) {
		if p, ok := seen[id]; ok {
			return p, nil
		}
		if _, ok := c.hand.tree(id); !ok {
			if kind, p, err := c.e.repo.Read(id); err == nil && kind == oid.Tree {
				seen[id] = p
				return p, nil
			}
		}
		return load(id)
	}
}

// treeError makes a tree that cannot be one a damage.
func treeError(err error) error {
	if errors.Is(err, tree.ErrMalformed) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
