package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// foldEvery is after how many snapshots the chain in git is folded.
const foldEvery = 256

// owed reads the debt.
func (e *Engine) owed(ctx context.Context) (d records.Debt, err error) {
	err = e.view(ctx, func(v *records.View) error {
		d, err = v.Debt()
		return err
	})
	return d, err
}

// refStands reports whether the ref can be read and keeps the newest snapshot
// that was brought into git. If not, it was deleted, set back, or broken.
func (e *Engine) refStands(ctx context.Context, d records.Debt) bool {
	err := e.repo.Sound()
	switch {
	case errors.Is(err, gitbridge.ErrBroken):
		return len(d.Newest) == 0
	case errors.Is(err, gitbridge.ErrUnsupportedRepository):
		return true // nobody can tell, and nothing of ours could be done about it
	}
	return d.Witness.IsZero() || e.repo.Keeps(ctx, d.Witness)
}

// bridge brings every pending snapshot into git, oldest first, mends a ref that
// was lost, and takes out of the ref what a prune or purge has dropped. A
// snapshot that cannot be whole in git any more is marked as lost, and does not
// stand in the way of the others.
func (e *Engine) bridge(ctx context.Context) error {
	if e.repo == nil {
		return nil
	}
	load := func(id oid.ID) (oid.Kind, []byte, error) { return e.objects.Read(ctx, id) }
	_ = e.repo.Replenish(load) // what hinders it is met below, or by the next command
	d, err := e.owed(ctx)
	if err == nil && !e.refStands(ctx, d) {
		err = e.mend(ctx)
	}
	if err != nil {
		return err
	}
	return e.settleDebt(ctx)
}

// settleDebt is bridge for a ref that stands.
func (e *Engine) settleDebt(ctx context.Context) error {
	d, err := e.owed(ctx)
	if err != nil {
		return err
	}
	for _, row := range d.Pending {
		if e.repo.Keeps(ctx, row.ID) {
			continue
		}
		if err := e.bridgeOne(ctx, row.ID, d.Witness); err != nil {
			return notYet(row.ID, err)
		}
	}
	if err := e.settle(ctx, d.Pending); err != nil || len(d.Dropped) == 0 {
		return err
	}
	return e.dropRefs(ctx, d.Dropped)
}

// bridged returns the rows whose snapshots are in git, for the next snapshot to
// settle.
func (e *Engine) bridged(ctx context.Context, rows []records.Pending) (done, rest []records.Pending) {
	for _, row := range rows {
		if e.repo.Keeps(ctx, row.ID) {
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
func (e *Engine) settle(ctx context.Context, rows []records.Pending) error {
	if len(rows) == 0 {
		return nil
	}
	fold := false
	if len(rows) == 1 && rows[0].Stands && !folds(rows[0]) {
		return nil
	}
	err := e.update(ctx, func(u *records.Update) error {
		for _, row := range rows {
			fold = fold || folds(row)
			if err := u.Settle(row); err != nil {
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
	return err
}

// folds reports whether the chain is folded after this row's snapshot.
func folds(row records.Pending) bool { return row.Number() > 0 && row.Number()%foldEvery == 0 }

// bridgeOne writes what git lacks of one snapshot and appends it to the ref, if
// that keeps another one still. A snapshot that was pruned or purged needs no
// bridge, also where that happens while it is on its way, and its objects go. One
// of which an object is proven to be nowhere is marked as lost.
func (e *Engine) bridgeOne(ctx context.Context, id, after oid.ID) error {
	err := e.carry(ctx, id, after)
	if err == nil {
		return nil
	}
	if stands, other := e.stands(ctx, id); other == nil && !stands {
		return nil
	}
	if !errors.Is(err, gitbridge.ErrMissing) && !errors.Is(err, ErrDamaged) {
		return err
	}
	if mendErr := e.mend(ctx); mendErr != nil {
		return errors.Join(err, mendErr)
	}
	if s, other := e.recorded(ctx, id); other == nil && s.Lost != "" || e.repo.Keeps(ctx, id) {
		return nil
	}
	return err
}

// carry does so for a snapshot that stands.
func (e *Engine) carry(ctx context.Context, id, after oid.ID) error {
	if stands, err := e.stands(ctx, id); err != nil || !stands {
		return err
	}
	payload, err := e.objects.Payload(ctx, oid.Commit, id)
	if err != nil {
		return err
	}
	_, err = e.repo.Bridge(ctx, gitbridge.Job{
		Snapshot: id,
		Commit:   payload,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return e.objects.Read(ctx, id) },
		Source:   func(ids []oid.ID) gitodb.Source { return e.objects.Source(ctx, ids) },
		After:    after,
	})
	return err
}

// stands reports whether the store has a snapshot under this very id.
func (e *Engine) stands(ctx context.Context, id oid.ID) (stands bool, err error) {
	err = e.view(ctx, func(v *records.View) error {
		stands, err = v.Stands(id)
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
	return e.update(ctx, func(u *records.Update) error { return u.SetLost(why) })
}

// dropRefs takes out of the ref the snapshots that the store has dropped. It
// drops by name: what others append meanwhile stays.
func (e *Engine) dropRefs(ctx context.Context, gone map[oid.ID]bool) error {
	if _, err := e.repo.Rewrite(ctx, func(s gitbridge.StoreSnapshot) bool { return !gone[s.ID] }); err != nil {
		return fmt.Errorf("what was dropped is still in git: %w", err)
	}
	return e.update(ctx, func(u *records.Update) error { return u.HasLetGo(gone) })
}
