package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Sync makes git whole, as every snapshot does by itself for what is pending
// and for a ref that was lost: it reads back every object of ours that git has,
// puts right what is not as it should be, and brings in what is missing. A
// damaged copy in a pack stays there beside the good one: that is [records.ErrDamaged].
// It does nothing without git. Put is how many objects it has put right.
func (m *Mirror) Sync(ctx context.Context) (put int, err error) {
	if m.Objects.Git == nil {
		return 0, nil
	}
	if s, err := m.Objects.Store(ctx); err != nil || s == nil {
		return 0, err
	}
	if err := m.dropPurged(ctx); err != nil {
		return put, err
	}
	load := func(id oid.ID) (oid.Kind, []byte, error) { return m.Objects.Read(ctx, id) }
	if err := m.git().Heal(ctx, load); err != nil {
		return put, err
	}
	var inPacks []oid.ID
	if put, err = m.mendWith(ctx, m.sound(ctx, &inPacks)); err != nil {
		return put, err
	}
	if err := m.Bridge(ctx); err != nil {
		return put, err
	}
	if err := m.git().Fold(ctx); err != nil || len(inPacks) == 0 {
		return put, err
	}
	return put, fmt.Errorf("%w: git has %d damaged objects in packs, %v among them; good copies are beside them now, and git fsck names the packs", records.ErrDamaged, len(inPacks), inPacks[0])
}

// sound returns a function that reports whether git has an object, whole. It
// reads those that the store has too, for only they can be put right; what git
// alone has is for git fsck. Those that are damaged in a pack are listed.
func (m *Mirror) sound(ctx context.Context, inPacks *[]oid.ID) func(oid.ID) bool {
	return func(id oid.ID) bool {
		if !m.git().Has(id) {
			return false
		}
		ours := false
		if err := m.View(ctx, func(v *records.View) error { ours = v.Has(id); return nil }); err != nil || !ours {
			return true
		}
		o, err := m.git().Stream(id)
		if err == nil {
			_, err = io.Copy(io.Discard, o.Data) // it is compared as it is read
			if errors.Join(err, o.Data.Close()) == nil {
				return true
			}
		}
		m.git().Refresh()
		if _, _, err := m.git().Read(id); err == nil { // git has moved it meanwhile
			return true
		}
		if !m.git().HasLoose(id) {
			*inPacks = append(*inPacks, id)
		}
		return false
	}
}

// dropPurged finds snapshots that the ref keeps although a purge gave them other
// ids: the process that brought them into git died before it could notice.
func (m *Mirror) dropPurged(ctx context.Context) error {
	var inRef, purged []oid.ID
	for s, err := range m.git().Snapshots(ctx) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			break
		}
		inRef = append(inRef, s.ID)
	}
	err := m.View(ctx, func(v *records.View) error {
		for _, id := range inRef {
			if !v.Renamed(id).IsZero() {
				purged = append(purged, id)
			}
		}
		return nil
	})
	if err != nil || len(purged) == 0 {
		return err
	}
	return m.Update(ctx, func(u *records.Update) error { return u.LetGo(purged...) })
}

// Others lists the snapshots in the ref that another program made.
func (m *Mirror) Others(ctx context.Context) (out []*records.Snapshot, err error) {
	if m.Objects.Git == nil {
		return nil, nil
	}
	for s, err := range m.git().Snapshots(ctx) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			break // a broken ref is nothing to drop from
		}
		if !s.Native && s.Err == nil {
			out = append(out, &records.Snapshot{ID: s.ID, Tree: s.Tree, Time: s.Time})
		}
	}
	return out, nil
}
