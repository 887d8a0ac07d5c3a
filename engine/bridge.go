package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// foldEvery is after how many snapshots the chain in git is folded.
const foldEvery = 256

// bridge brings every pending snapshot into git, oldest first, mends a ref that
// was lost, and takes out of the ref what a prune or purge has dropped. A
// snapshot that cannot be whole in git any more is marked as lost, and does not
// stand in the way of the others.
func (e *Engine) bridge(ctx context.Context) error {
	if e.repo == nil {
		return nil
	}
	stands, err := e.refStands(ctx)
	if err == nil && !stands {
		err = e.mend(ctx)
	}
	if err != nil {
		return err
	}
	rows, err := e.pending(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if e.repo.Keeps(ctx, row.id) {
			continue
		}
		if err := e.bridgeOne(ctx, row.id); err != nil {
			return notYet(row.id, err)
		}
	}
	if err := e.settle(ctx, rows); err != nil {
		return err
	}
	return e.dropRefs(ctx)
}

// witnessMax bounds how many pending snapshots refStands passes over.
const witnessMax = 64

// refStands reports whether the ref keeps the newest snapshot that was brought
// into git. If it does not, the ref was deleted, set back, or broken.
func (e *Engine) refStands(ctx context.Context) (bool, error) {
	rows, err := e.pending(ctx)
	if err != nil {
		return false, err
	}
	pending := map[oid.ID]bool{}
	for _, row := range rows {
		pending[row.id] = true
	}
	var newest []oid.ID
	err = e.view(ctx, func(v *cas.View) error {
		for s, err := range snapshots(v) {
			if err != nil {
				return err
			}
			if s.Lost != "" {
				continue
			}
			newest = append(newest, s.ID)
			if !pending[s.ID] || len(newest) > witnessMax {
				break
			}
		}
		return nil
	})
	if err != nil || len(newest) == 0 {
		return true, err
	}
	for _, id := range newest {
		if e.repo.Keeps(ctx, id) {
			return true, nil
		}
	}
	return pending[newest[len(newest)-1]], nil
}

// bridged returns the rows whose snapshots are in git, for the next snapshot to
// settle.
func (e *Engine) bridged(ctx context.Context, rows []pendingRow) (done, rest []pendingRow) {
	for _, row := range rows {
		if e.repo.Keeps(ctx, row.id) {
			done = append(done, row)
		} else {
			rest = append(rest, row)
		}
	}
	return done, rest
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
// while it is on its way, and its objects go. One of which an object is nowhere
// is marked as lost.
func (e *Engine) bridgeOne(ctx context.Context, id oid.ID) error {
	err := e.carry(ctx, id)
	if err == nil {
		return nil
	}
	if stands, other := e.stands(ctx, id); other == nil && !stands {
		return nil
	}
	if errors.Is(err, gitbridge.ErrMissing) {
		return e.setLost(ctx, map[oid.ID]string{id: err.Error()})
	}
	return err
}

// carry does so for a snapshot that stands.
func (e *Engine) carry(ctx context.Context, id oid.ID) error {
	if stands, err := e.stands(ctx, id); err != nil || !stands {
		return err
	}
	payload, err := e.payload(ctx, oid.Commit, id)
	if err != nil {
		return err
	}
	_, err = e.repo.Bridge(ctx, gitbridge.Job{
		Snapshot: id,
		Commit:   payload,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return e.object(ctx, id) },
		Source:   func(ids []oid.ID) gitodb.Source { return e.source(ctx, ids) },
	})
	return err
}

// source gives objects of the store, in about the order of ids.
func (e *Engine) source(ctx context.Context, ids []oid.ID) gitodb.Source {
	ahead := e.readAhead(ids)
	return func(id oid.ID) (gitbridge.Object, error) { return ahead.stream(ctx, id) }
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

// setLost says of snapshots why they cannot be restored as a whole any more, or
// with "" that they can. They are not pending then: git gets them whole or not
// at all.
func (e *Engine) setLost(ctx context.Context, why map[oid.ID]string) error {
	if len(why) == 0 {
		return nil
	}
	return storeError(e.opened().Update(ctx, func(u *cas.Update) error {
		for id, reason := range why {
			s, err := find(&u.View, id)
			if err != nil {
				return err
			}
			if s == nil || s.ID != id || s.Lost == reason {
				continue
			}
			s.Lost = reason
			value, err := json.Marshal(s)
			if err != nil {
				return err
			}
			seq, err := u.Table(tableByID).Value(id.Bytes())
			if err != nil {
				return err
			}
			if err := u.Table(tableSnapshots).Put(seq, value); err != nil {
				return err
			}
			if err := markLost(u, s, seq); err != nil {
				return err
			}
		}
		return nil
	}))
}

// markLost keeps the table of lost snapshots in step with a record.
func markLost(u *cas.Update, s *Snapshot, seq []byte) error {
	if s.Lost == "" {
		return u.Table(tableLost).Delete(s.ID.Bytes())
	}
	return errors.Join(u.Table(tableLost).Put(s.ID.Bytes(), []byte(s.Lost)), u.Table(tablePending).Delete(seq))
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
		return fmt.Errorf("what was dropped is still in git: %w", err)
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
