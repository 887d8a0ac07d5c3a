package mirror

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Others may move our ref: pi-rewind-hook appends to it, and drops what its retention
// does not want; a user deletes it, or sets it back. What it does not keep any more, a
// collection takes from git, where some contents are that the store does not have. So
// before each snapshot it is looked whether the ref keeps every one that was brought
// into git. That must not cost more with a longer history. So it is noted up to where
// that was found to hold, and a chain that grew from there needs a look at its newest
// commits alone. Any other chain is counted as a whole.

// refKeeps reports whether the ref can be read and keeps every snapshot that was brought
// into git. If not, it was deleted, set back, cut short, or broken. Now says up to where
// it keeps everything, for the store to note.
func (m *Mirror) refKeeps(ctx context.Context, d records.Debt) (keeps bool, now records.Kept) {
	err := m.git().Sound()
	switch {
	case errors.Is(err, gitbridge.ErrBroken):
		return !d.Any, now
	case errors.Is(err, gitbridge.ErrUnsupportedRepository):
		return true, now // nobody can tell, and nothing of ours could be done about it
	case d.InGit.IsZero():
		return true, now
	case !m.git().Has(d.InGit):
		return false, now
	}
	if !d.Kept.Tip.IsZero() {
		tip, grown, follows, err := m.git().Grown(ctx, d.Kept.Tip)
		if err == nil && follows {
			if _, keeps, now = reckon(records.Kept{Tip: tip, Upto: d.Kept.Upto}, d.Since, grown); keeps {
				return true, now
			}
		}
	}
	return m.count(ctx)
}

// reckon compares the rows that came after a number with the snapshots that a chain got
// since then. Missing are those that are not pending, and that it did not get. Now says up to
// where the chain has everything; it is zero where a row that is pending, and not in the
// chain, stands before one that is.
func reckon(from records.Kept, rows []records.Counted, grown map[oid.ID]bool) (missing map[oid.ID]bool, keeps bool, now records.Kept) {
	slices.SortFunc(rows, func(a, b records.Counted) int { return cmp.Compare(a.Number, b.Number) })
	missing, now = map[oid.ID]bool{}, from
	gap := false
	for _, row := range rows {
		switch {
		case !grown[row.ID] && !row.Pending:
			missing[row.ID] = true
		case !grown[row.ID]:
			gap = true
		case gap:
			now = records.Kept{}
		case !now.Tip.IsZero():
			now.Upto = row.Number
		}
	}
	if len(missing) > 0 {
		return missing, false, records.Kept{}
	}
	return missing, true, now
}

// count is refKeeps for a chain of which nothing is known. What is pruned in between is
// no loss, so what is missing is looked for among the records once more. Where they
// cannot be read that is met again, and told, by whoever writes one.
func (m *Mirror) count(ctx context.Context) (keeps bool, now records.Kept) {
	d, err := m.debt(ctx, true)
	if err != nil {
		return true, now
	}
	tip, all, whole, err := m.git().Grown(ctx, oid.ID{})
	if err != nil || !whole {
		return err != nil, now
	}
	missing, keeps, now := reckon(records.Kept{Tip: tip}, d.Since, all)
	if keeps {
		return true, now
	}
	if d, err = m.debt(ctx, true); err != nil {
		return true, records.Kept{}
	}
	gone := slices.ContainsFunc(d.Since, func(row records.Counted) bool { return !row.Pending && missing[row.ID] })
	return !gone, records.Kept{}
}
