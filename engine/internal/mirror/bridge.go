package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// foldEvery is after how many snapshots the chain in git is folded.
const foldEvery = 256

// debt reads what git may lack, as [records.View.Debt] does.
func (m *Mirror) debt(ctx context.Context, all bool) (records.Debt, error) {
	return records.Read(ctx, m.View, func(v *records.View) (records.Debt, error) { return v.Debt(all) })
}

// Bridge brings every pending snapshot into git, oldest first, mends a ref that
// was lost, and takes out of the ref what a prune or purge has dropped. A
// snapshot that cannot be whole in git any more is marked as lost, and does not
// hinder the others.
func (m *Mirror) Bridge(ctx context.Context) error {
	if m.Objects.Git == nil {
		return nil
	}
	load := func(id oid.ID) (oid.Kind, []byte, error) { return m.Objects.Read(ctx, id) }
	_ = m.git().Upkeep(ctx, load) // what hinders it is met below, or by the next command
	d, err := m.debt(ctx, false)
	if err == nil {
		if keeps, _ := m.refKeeps(ctx, d); !keeps {
			err = m.mend(ctx)
		}
	}
	if err != nil {
		return err
	}
	return m.settleDebt(ctx)
}

// settleDebt brings into git what is pending, and takes out of the ref what was
// dropped. The ref is sound.
func (m *Mirror) settleDebt(ctx context.Context) error {
	d, err := m.debt(ctx, false)
	if err != nil {
		return err
	}
	for _, row := range d.Pending {
		if m.git().Keeps(ctx, row.ID) {
			continue
		}
		if err := m.bridgeOne(ctx, row.ID, d.InGit); err != nil {
			return notYet(row.ID, err)
		}
	}
	if err := m.settle(ctx, d.Pending); err != nil || len(d.Dropped) == 0 {
		return err
	}
	return m.dropRefs(ctx, d.Dropped)
}

// Pending counts the snapshots that are not in git yet.
func (m *Mirror) Pending(ctx context.Context) (int, error) {
	d, err := m.debt(ctx, false)
	_, rest := m.bridged(ctx, d.Pending)
	return len(rest), err
}

// bridged returns the rows whose snapshots are in git, for the next snapshot to
// settle.
func (m *Mirror) bridged(ctx context.Context, rows []records.Counted) (done, rest []records.Counted) {
	for _, row := range rows {
		if m.git().Keeps(ctx, row.ID) {
			done = append(done, row)
		} else {
			rest = append(rest, row)
		}
	}
	return done, rest
}

// settle removes the rows of pending snapshots that git has now. A single row is
// left to the next snapshot, which removes it in its own transaction: another
// transaction would make every snapshot wait for the disk twice more. If a loss of
// power sets the ref back meanwhile, the row is still there, and the snapshot goes
// into git again.
func (m *Mirror) settle(ctx context.Context, rows []records.Counted) error {
	if len(rows) == 0 {
		return nil
	}
	if len(rows) == 1 && rows[0].Recorded && !folds(rows[0]) {
		return nil
	}
	err := m.Update(ctx, func(u *records.Update) error { return u.Settle(records.Kept{}, rows...) })
	if err == nil && slices.ContainsFunc(rows, folds) {
		// If it fails, the chain stays long. That only costs git time, and the
		// next fold makes up for it.
		_ = m.git().Fold(ctx)
	}
	return err
}

// folds reports whether the chain is folded after this row's snapshot.
func folds(row records.Counted) bool { return row.Number > 0 && row.Number%foldEvery == 0 }

// bridgeOne writes what git lacks of one snapshot and appends it to the ref. The ref
// must still keep the snapshot that after names. A snapshot that is pruned or purged, before or
// meanwhile, does not go into git, and that is no error. If an object of it is
// proven to be nowhere, the snapshot is marked as lost.
func (m *Mirror) bridgeOne(ctx context.Context, id, after oid.ID) error {
	err := m.carry(ctx, id, after)
	if err == nil {
		return nil
	}
	if recorded, other := m.isRecorded(ctx, id); other == nil && !recorded {
		return nil
	}
	if !errors.Is(err, gitbridge.ErrMissing) && !errors.Is(err, records.ErrDamaged) {
		return err
	}
	if mendErr := m.mend(ctx); mendErr != nil {
		return errors.Join(err, mendErr)
	}
	if lost, other := m.isLost(ctx, id); other == nil && lost || m.git().Keeps(ctx, id) {
		return nil
	}
	return err
}

// carry brings into git a snapshot that has a record, as bridgeOne says.
func (m *Mirror) carry(ctx context.Context, id, after oid.ID) error {
	if recorded, err := m.isRecorded(ctx, id); err != nil || !recorded {
		return err
	}
	payload, err := m.Objects.Payload(ctx, oid.Commit, id)
	if err != nil {
		return err
	}
	_, err = m.git().Bridge(ctx, gitbridge.Job{
		Snapshot: id,
		Commit:   payload,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return m.Objects.Read(ctx, id) },
		Source:   func(ids []oid.ID) gitodb.Source { return m.Objects.Source(ctx, ids) },
		After:    after,
	})
	return err
}

// isRecorded reports whether the store has a snapshot under this very id.
func (m *Mirror) isRecorded(ctx context.Context, id oid.ID) (bool, error) {
	return records.Read(ctx, m.View, func(v *records.View) (bool, error) { return v.Recorded(id) })
}

// isLost reports whether the store says of a snapshot that it is not whole.
func (m *Mirror) isLost(ctx context.Context, id oid.ID) (bool, error) {
	s, err := records.Read(ctx, m.View, func(v *records.View) (*records.Snapshot, error) { return v.Find(id) })
	return s != nil && s.Lost != "", err
}

// LetGo notes that the ref is to let go of a snapshot that has no record.
func (m *Mirror) LetGo(ctx context.Context, id oid.ID) error {
	return m.Update(ctx, func(u *records.Update) error { return u.LetGo(id) })
}

// setLost is [records.Update.SetLost] in a transaction of its own.
func (m *Mirror) setLost(ctx context.Context, why map[oid.ID]string) error {
	if len(why) == 0 {
		return nil
	}
	return m.Update(ctx, func(u *records.Update) error { return u.SetLost(why) })
}

// dropRefs takes out of the ref the snapshots that the store has dropped. It
// drops by name: what others append meanwhile stays.
func (m *Mirror) dropRefs(ctx context.Context, gone map[oid.ID]bool) error {
	if _, err := m.git().Rewrite(ctx, func(s gitbridge.StoreSnapshot) bool { return !gone[s.ID] }); err != nil {
		return fmt.Errorf("what was dropped is still in git: %w", err)
	}
	return m.Update(ctx, func(u *records.Update) error { return u.HasLetGo(gone) })
}
