package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const (
	// copyMax is up to how many objects that git alone has are copied into the
	// store. More are borrowed: the ref keeps them before the record is written.
	copyMax = 64
	// lookMax is how many objects are asked for under one lock of the store.
	lookMax = 1 << 10
)

// hold sees to it that everything which the capture names is held when its
// record is written. What only git has is copied into the store where it is
// little. Otherwise, as in a clean checkout that was never recorded, HEAD's own
// tree is borrowed: then the ref must reach it first, and HEAD must not have
// moved until it did, for up to that moment only HEAD keeps the objects.
func (c *capture) hold(ctx context.Context) error {
	if c.e.repo == nil {
		return c.holdPlain(ctx)
	}
	c.borrows, c.held = false, records.HeldByStore
	base := c.base(ctx)
	var overlays, trees []oid.ID
	if c.based = base != nil; c.based {
		overlays, trees = append(overlays, base.Overlay), append(trees, base.Tree)
		c.held = base.Held
	}
	if err := c.holdOverlay(ctx, overlays); err != nil {
		return err
	}
	if c.unchanged(base) {
		return nil
	}
	head := c.head.Tree
	if base != nil || head.IsZero() {
		most := copyMax
		if head.IsZero() {
			most = -1
		}
		lacking, err := c.lacking(ctx, c.search(ctx, false), c.state.Tree, trees, most)
		if err != nil || most < 0 || len(lacking) <= most {
			return c.copy(ctx, lacking, err)
		}
	}
	c.borrows, c.held = true, records.HeldByGit
	lacking, err := c.lacking(ctx, c.search(ctx, false), c.state.Tree, append(trees, head), -1)
	return c.copy(ctx, lacking, err)
}

// holdPlain does so without git. What was read, and what the last snapshot has,
// is in the store; only what a scan without a stat table asked for is not known.
func (c *capture) holdPlain(ctx context.Context) error {
	c.held = ""
	if !c.rechecked {
		return nil
	}
	for _, overlay := range []bool{false, true} {
		root := c.state.Tree
		if overlay {
			root = c.state.Overlay
		}
		lacking, err := c.lacking(ctx, c.search(ctx, overlay), root, nil, -1)
		if err := c.copy(ctx, lacking, err); err != nil {
			return err
		}
	}
	return nil
}

// holdAll copies into the store what the capture would have borrowed: where git
// cannot keep it now.
func (c *capture) holdAll(ctx context.Context) error {
	var trees []oid.ID
	c.borrows, c.held = false, records.HeldByStore
	if base := c.base(ctx); base != nil {
		trees, c.held = append(trees, base.Tree), base.Held
	}
	lacking, err := c.lacking(ctx, c.search(ctx, false), c.state.Tree, trees, -1)
	return c.copy(ctx, lacking, err)
}

// base returns the worktree's last snapshot if all that it names is known to be
// held, else nil.
func (c *capture) base(ctx context.Context) *Snapshot {
	switch {
	case c.last == nil || c.last.Lost != "" || c.last.Held == "":
		return nil
	case c.last.Held == records.HeldByGit && c.adrift && !c.e.repo.Keeps(ctx, c.last.ID):
		return nil
	}
	return c.last
}

// holdOverlay sees to it that the store has the overlay, all of it: git is not
// given any, and what a git tree has today another one lacks tomorrow.
func (c *capture) holdOverlay(ctx context.Context, known []oid.ID) error {
	lacking, err := c.lacking(ctx, c.search(ctx, true), c.state.Overlay, known, -1)
	return c.copy(ctx, lacking, err)
}

func (c *capture) search(ctx context.Context, overlay bool) *tree.Search {
	return &tree.Search{Algorithm: c.e.alg, Overlay: overlay, Load: c.trees}
}

// lacking returns what root needs beyond known trees and the store will not
// have after the commit; if most is not negative, it may end after more than
// that. What the store has already is noted, to be looked for again when the
// record is written.
func (c *capture) lacking(ctx context.Context, s *tree.Search, root oid.ID, known []oid.ID, most int) (lacking []tree.Need, err error) {
	var asked []tree.Need
	look := func() error {
		err := c.e.view(ctx, func(v *records.View) error {
			for _, n := range asked {
				if v.Has(n.ID) {
					c.relied = append(c.relied, n.ID)
				} else {
					lacking = append(lacking, n)
				}
			}
			return nil
		})
		asked = asked[:0]
		return err
	}
	for n, err := range s.Beyond(root, known...) {
		if err != nil {
			return nil, objects.TreeError(err)
		}
		if c.stage.Has(n.ID) {
			continue
		}
		if asked = append(asked, n); len(asked) < lookMax {
			continue
		}
		if err := look(); err != nil || most >= 0 && len(lacking) > most {
			return lacking, err
		}
	}
	if len(asked) > 0 {
		err = look()
	}
	return lacking, err
}

// copy puts objects into the stage that the store lacks: from memory, or from
// git. What git cannot give any more makes the snapshot begin again; then it is
// read from disk.
func (c *capture) copy(ctx context.Context, lacking []tree.Need, err error) error {
	if err != nil || len(lacking) == 0 {
		return err
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	failed := make([]error, len(lacking)) // all of them: each bad object is to be found
	for range min(runtime.GOMAXPROCS(0), len(lacking)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(lacking) && ctx.Err() == nil; i = next.Add(1) - 1 {
				failed[i] = c.copyOne(ctx, lacking[i])
			}
		})
	}
	workers.Wait()
	for i, n := range lacking {
		if err := failed[i]; err != nil {
			failed[i] = c.gone(ctx, n, err)
		}
	}
	return errors.Join(ctx.Err(), errors.Join(failed...))
}

func (c *capture) copyOne(ctx context.Context, n tree.Need) error {
	o := gitodb.Object{Kind: n.Kind}
	if p, ok := c.hand.tree(n.ID); ok {
		o = gitodb.Payload(oid.Tree, p)
	} else {
		if c.e.repo == nil {
			return fmt.Errorf("%w: it was in the store", cas.ErrSwept)
		}
		var err error
		if o, err = c.e.repo.Stream(n.ID); err != nil {
			return fmt.Errorf("%w: %w", errNotGits, err)
		}
	}
	from := &watched{r: o.Data}
	id, err := c.stage.PutReader(ctx, o.Kind, from, o.Size, oid.ID{})
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

// A watched reader notes why reading failed, which is another matter than why
// what was read could not be kept.
type watched struct {
	r   io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// gone says what it means that an object could not be copied. What git cannot
// give is read from disk when the snapshot begins again; what is not on disk
// either, such as what git has promised to fetch for a sparse checkout one day,
// the snapshot does not claim to have.
func (c *capture) gone(ctx context.Context, n tree.Need, err error) error {
	if ctx.Err() != nil || !errors.Is(err, errNotGits) {
		return err
	}
	if n.Kind == oid.Blob {
		_, there, lookErr := tree.Lookup(c.state, n.Path, c.e.alg, c.trees)
		if lookErr != nil || !there {
			return objects.TreeError(lookErr)
		}
	}
	c.e.objects.Distrust(n.ID)
	return fmt.Errorf("%w: %s: %w", cas.ErrSwept, n.Path, err)
}
