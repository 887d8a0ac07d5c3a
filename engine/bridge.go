package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// foldEvery is after how many snapshots the chain in git is folded.
const foldEvery = 256

// bridge brings every pending snapshot into git, oldest first, and takes out
// of the ref what a prune or purge has dropped. Whole are trees that git is
// known to have with all they need.
func (e *Engine) bridge(ctx context.Context, whole ...oid.ID) error {
	if e.repo == nil {
		return nil
	}
	rows, err := e.pending(ctx)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		_ = e.rejoin(ctx) // what hinders it hinders the steps below, which say so
	}
	for _, row := range rows {
		if e.repo.Keeps(ctx, row.id) {
			continue
		}
		if err := e.bridgeOne(ctx, row.id, false, whole); err != nil {
			return fmt.Errorf("snapshot %v is in the store, but not in git yet: %w", row.id, hint(err))
		}
	}
	if err := e.settle(ctx, rows); err != nil {
		return err
	}
	return e.dropRefs(ctx)
}

// rejoin makes a lost ref keep again the snapshots of the store whose commits
// git still has: a chain that began anew with the next snapshot would leave
// them, and what git alone has of them, to the next collection. Where git has
// collected some of it already, only [Engine.Sync] brings them back: a ref
// that reaches a missing object is what git calls corrupt.
func (e *Engine) rejoin(ctx context.Context) error {
	for range e.repo.Snapshots(ctx) {
		return nil // the ref is there, if perhaps broken
	}
	refs, err := e.repo.Refs(ctx, path.Dir(gitbridge.StoreRef)+"/")
	if err != nil || slices.ContainsFunc(refs, func(r gitbridge.Ref) bool { return r.Name == gitbridge.StoreRef }) {
		return err // it keeps what is no snapshot: somebody's, and what is appended keeps it too
	}
	all, err := e.stored(ctx)
	if err != nil {
		return err
	}
	r, whole := newReach(e, e.trees(ctx)), true
	var ids []oid.ID
	for _, s := range all {
		if !e.repo.Has(s.ID) {
			continue
		}
		ids = append(ids, s.ID)
		r.tree("", s.Tree, false, func(o object, err error) bool {
			whole = err == nil && ctx.Err() == nil && (e.repo.Has(o.id) || o.id == e.emptyTree())
			return whole
		})
		if !whole {
			return ctx.Err()
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return e.repo.Rebuild(ctx, ids)
}

// hint adds to a failure of the bridge what a person can do about it.
func hint(err error) error {
	if errors.Is(err, gitbridge.ErrBroken) {
		return fmt.Errorf("%w (rewind sync repairs it)", err)
	}
	return err
}

// inGit returns the rows whose snapshots are in git, for the next snapshot to
// settle.
func (e *Engine) inGit(ctx context.Context, rows []pendingRow) (done []pendingRow) {
	for _, row := range rows {
		if e.repo.Keeps(ctx, row.id) {
			done = append(done, row)
		}
	}
	return done
}

// settle forgets what was pending and is in git now. A single row is left to
// the next snapshot, whose transaction takes it along: one of its own would
// make every snapshot wait for the disk twice more. Should a loss of power take
// the ref back, the row is still there, and the snapshot goes into git again.
func (e *Engine) settle(ctx context.Context, rows []pendingRow) error {
	if len(rows) == 0 {
		return nil
	}
	fold := false
	if len(rows) == 1 && !rows[0].folds() {
		if stands, err := e.stands(ctx, rows[0].id); err != nil || stands {
			return err
		}
	}
	err := e.opened().Update(ctx, func(u *cas.Update) error {
		for _, row := range rows {
			fold = fold || row.folds()
			if err := settleRow(u, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && fold {
		// A long chain costs git time and nothing else: the next fold is
		// another chance.
		_ = e.repo.Fold(ctx)
	}
	return storeError(err)
}

// folds reports whether the chain is folded after this row's snapshot.
func (r pendingRow) folds() bool {
	return len(r.seq) == 8 && binary.BigEndian.Uint64(r.seq)%foldEvery == 0
}

// settleRow forgets one row, if it is still about that snapshot. One that was
// pruned or purged on its way into git goes from there again.
func settleRow(u *cas.Update, row pendingRow) error {
	s, err := find(&u.View, row.id)
	if err != nil {
		return err
	}
	if s == nil || s.ID != row.id {
		if err := u.Table(tableDropped).Put(row.id.Bytes(), []byte{1}); err != nil {
			return err
		}
	}
	now, err := u.Table(tablePending).Value(row.seq)
	if errors.Is(err, cas.ErrNotFound) || err == nil && !bytes.Equal(now, row.id.Bytes()) {
		return nil
	}
	return errors.Join(err, u.Table(tablePending).Delete(row.seq))
}

// bridgeOne writes what git lacks of one snapshot and appends it to the ref. A
// snapshot that was pruned or purged needs no bridge, also where that happens
// while it is on its way, and its objects go.
func (e *Engine) bridgeOne(ctx context.Context, id oid.ID, repair bool, whole []oid.ID) error {
	err := e.carry(ctx, id, repair, whole)
	if err == nil {
		return nil
	}
	if stands, other := e.stands(ctx, id); other == nil && !stands {
		return nil
	}
	return err
}

// carry does so for a snapshot that stands.
func (e *Engine) carry(ctx context.Context, id oid.ID, repair bool, whole []oid.ID) error {
	if stands, err := e.stands(ctx, id); err != nil || !stands {
		return err
	}
	payload, err := e.payload(ctx, oid.Commit, id)
	if err != nil {
		return err
	}
	ahead := e.readAhead(nil)
	_, err = e.repo.Bridge(ctx, gitbridge.Job{
		Snapshot: id,
		Commit:   payload,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return e.object(ctx, id) },
		Expect:   func(ids []oid.ID) { ahead = e.readAhead(ids) },
		Open:     func(id oid.ID) (gitbridge.Object, error) { return ahead.stream(ctx, id) },
		Complete: whole,
		Repair:   repair,
	})
	return err
}

// writeAhead begins to write what git lacks of a capture's tree, while the store is
// busy with the snapshot: objects that no ref names do no harm, and the ref
// follows the record as ever. The function that it returns waits for the end.
func (e *Engine) writeAhead(ctx context.Context, c *capture, id oid.ID, payload []byte) (wait func()) {
	if e.repo == nil {
		return func() {}
	}
	var work sync.WaitGroup
	work.Go(func() {
		objects, whole, err := e.repo.Ahead(ctx, gitbridge.Job{
			Snapshot: id,
			Commit:   payload,
			Load:     func(id oid.ID) (oid.Kind, []byte, error) { return c.object(ctx, id) },
		})
		if err == nil && whole {
			c.ahead = objects
		}
	})
	return work.Wait
}

// whole returns the trees that git has with all they need because they were
// written ahead. The store's lock may have been waited for since, and a
// collection may have taken what no ref kept: so it looks.
func (c *capture) whole() []oid.ID {
	if len(c.ahead) == 0 || !c.e.repo.Freshen(c.ahead) {
		return nil
	}
	return []oid.ID{c.state.Tree}
}

// stands reports whether the store has a snapshot under this very id.
func (e *Engine) stands(ctx context.Context, id oid.ID) (stands bool, err error) {
	err = e.view(ctx, func(v *cas.View) error {
		s, err := find(v, id)
		stands = s != nil && s.ID == id
		return err
	})
	return stands, err
}

// streamBytes is from what size on a content is passed on in pieces.
const streamBytes = 1 << 20

// stream opens an object of the store, which need not fit into memory.
func (e *Engine) stream(ctx context.Context, id oid.ID) (o gitbridge.Object, err error) {
	var payload []byte
	err = e.opened().View(ctx, func(v *cas.View) (err error) {
		if o.Kind, o.Size, err = v.Stat(id); err == nil && o.Size < streamBytes {
			_, payload, err = v.Object(id)
		}
		return err
	})
	switch {
	case err != nil:
		return gitbridge.Object{}, storeError(err)
	case o.Size < streamBytes:
		o.Data = io.NopCloser(bytes.NewReader(payload))
		return o, nil
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(e.write(ctx, w, id)) }()
	o.Data = r
	return o, nil
}

// dropRefs takes out of the ref the snapshots that the store has dropped. It
// drops by name: what others append meanwhile stays.
func (e *Engine) dropRefs(ctx context.Context) error {
	gone := map[oid.ID]bool{}
	err := e.view(ctx, func(v *cas.View) error {
		for key := range v.Table(tableDropped).All() {
			if id, err := oid.FromBytes(key); err == nil {
				gone[id] = true
			}
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	if _, err := e.repo.Rewrite(ctx, func(s gitbridge.StoreSnapshot) bool { return !gone[s.ID] }); err != nil {
		return hint(err)
	}
	return storeError(e.opened().Update(ctx, func(u *cas.Update) error {
		for id := range gone {
			if err := u.Table(tableDropped).Delete(id.Bytes()); err != nil {
				return err
			}
		}
		return nil
	}))
}
