package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// Why a snapshot stays; the first that holds is the one that is told.
const (
	keepPin     = "pinned by name"
	keepLast    = "newest of its worktree"
	keepUndo    = "undo or redo may want it"
	keepLabel   = "labelled"
	keepSession = "a session's files, its way back, or what a fork begins with"
	keepMarked  = "of a labelled entry"
	keepUnread  = "named in a ledger that cannot be read"
	keepUnseen  = "of a session whose ledger is nowhere to be found"
	keepScan    = "of a session that the scan mode leaves alone"
	keepForeign = "of another program, and no ledger says that it may go"
	keepLimits  = "within the limits"
)

// A candidate is a snapshot that limits may drop.
type candidate struct {
	snap    *Snapshot
	foreign bool      // of pi-rewind-hook: in the ref, without a record of ours
	at      time.Time // when something last referred to it
	why     string    // why it stays; empty: it may go
}

// choose finds what goes, and why the rest stays.
func (e *Engine) choose(ctx context.Context, p *PruneOptions) (*Pruned, error) {
	looking := ctx
	if p.Startup && e.conf.StartupBudget > 0 {
		var cancel context.CancelFunc
		looking, cancel = context.WithTimeout(ctx, e.conf.StartupBudget)
		defer cancel()
	}
	refs, err := e.look(looking, p)
	if err != nil {
		return nil, err
	}
	all, err := e.candidates(ctx, refs, p)
	if err != nil {
		return nil, err
	}
	for _, group := range groups(all) {
		e.applyLimits(group, p)
	}
	if p.MaxStoreSize > 0 {
		if err := e.fit(ctx, all, p.MaxStoreSize); err != nil {
			return nil, err
		}
	}
	out := &Pruned{Kept: map[string]int{}, Ledgers: refs.files}
	for _, c := range all {
		switch {
		case c.why != "":
			out.Kept[c.why]++
		case c.foreign:
			out.Foreign = append(out.Foreign, c.snap.ID)
		default:
			out.Dropped = append(out.Dropped, c.snap)
		}
	}
	return out, nil
}

// candidates lists every snapshot, newest reference first, with the reason
// for those that stay whatever the limits say.
func (e *Engine) candidates(ctx context.Context, refs *references, p *PruneOptions) ([]*candidate, error) {
	var all []*candidate
	var needed map[oid.ID]string
	known := map[oid.ID]bool{}
	err := e.view(ctx, func(v *records.View) (err error) {
		if needed, err = stays(v); err != nil {
			return err
		}
		names, err := v.Aliases()
		if err != nil {
			return err
		}
		refs.follow(names)
		for s, err := range v.Snapshots() {
			if err != nil {
				return err
			}
			known[s.ID] = true
			c := &candidate{snap: s, why: needed[s.ID]}
			if c.why == "" {
				c.why = e.bound(s, refs, p)
			}
			all = append(all, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	dated(all, refs, e.now())
	foreign, err := e.foreignOnes(ctx, refs, known)
	for _, c := range foreign {
		if why := needed[c.snap.ID]; why != "" {
			c.why = why
		}
	}
	all = append(all, foreign...)
	slices.SortStableFunc(all, func(a, b *candidate) int { return b.at.Compare(a.at) })
	return all, err
}

// bound tells whether labels or conversations hold a snapshot of ours.
func (e *Engine) bound(s *Snapshot, refs *references, p *PruneOptions) string {
	if s.Label() != "" && !s.Foreign() { // a prompt is no name that somebody gave
		return keepLabel
	}
	if why := e.pinnedBy(refs.live[s.ID]); why != "" {
		return why
	}
	ofNone := true
	for _, point := range s.Points {
		if point.Session == "" {
			continue
		}
		ofNone = false
		if !refs.sessions[point.Session] && refs.places && !p.Unseen {
			return keepUnseen
		}
	}
	referred := refs.live[s.ID] != ledger.Reference{}
	if refs.scanned == nil || refs.scanned[s.ID] || ofNone && !referred {
		return ""
	}
	only := func(point Point) bool { return point.Session == "" || point.Session == p.Session }
	if p.Session != "" && !referred && !slices.ContainsFunc(s.Points, func(q Point) bool { return !only(q) }) {
		return ""
	}
	return keepScan
}

// pinnedBy tells whether what sessions say of a snapshot pins it.
func (e *Engine) pinnedBy(ref ledger.Reference) string {
	switch {
	case ref.Reasons&(ledger.Current|ledger.Undo|ledger.Pending) != 0:
		return keepSession
	case ref.Reasons&ledger.Unreadable != 0:
		return keepUnread
	case ref.Reasons&ledger.Labelled != 0 && e.conf.PinLabeled:
		return keepMarked
	}
	return ""
}

// foreignOnes lists the snapshots in the ref that another program made. Only
// one that a ledger refers to, and does not pin, may go.
func (e *Engine) foreignOnes(ctx context.Context, refs *references, known map[oid.ID]bool) ([]*candidate, error) {
	if e.repo == nil {
		return nil, nil
	}
	var out []*candidate
	for s, err := range e.repo.Snapshots(ctx) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return out, nil // a broken ref is nothing to drop from
		}
		if s.Native || known[s.ID] || s.Err != nil {
			continue
		}
		snap := &Snapshot{ID: s.ID, Tree: s.Tree, Time: s.Time}
		c := &candidate{snap: snap, foreign: true, at: refs.latest(snap), why: keepForeign}
		if ref, ok := refs.live[s.ID]; ok {
			c.why = e.pinnedBy(ref)
			if c.why == "" && refs.scanned != nil && !refs.scanned[s.ID] {
				c.why = keepScan
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// stays returns the snapshots that rewind itself cannot do without, and why.
func stays(v *records.View) (map[oid.ID]string, error) {
	keep := map[oid.ID]string{}
	add := func(id oid.ID, why string) {
		if keep[id] == "" {
			keep[id] = why
		}
	}
	for _, id := range v.Pins() {
		add(id, keepPin)
	}
	worktrees, err := v.Worktrees()
	if err != nil {
		return nil, err
	}
	for key, w := range worktrees {
		add(w.Last, keepLast)
		ops, err := v.Wanted(key)
		if err != nil {
			return nil, err
		}
		for _, op := range ops {
			add(op.From, keepUndo)
			add(op.To, keepUndo)
		}
	}
	return keep, nil
}

// groups divides candidates by worktree, each newest first; those of other
// programs are a group of their own.
func groups(all []*candidate) map[string][]*candidate {
	out := map[string][]*candidate{}
	for _, c := range all {
		key := "worktree " + c.snap.Where
		if c.foreign {
			key = "foreign"
		}
		out[key] = append(out[key], c)
	}
	return out
}

// applyLimits tells of each candidate of a worktree without a reason to stay
// whether it is within the limits. What is pinned does not count, but for the
// newest, which would be kept anyway.
func (e *Engine) applyLimits(group []*candidate, p *PruneOptions) {
	thin := newThinning(e.now(), p.ThinDays)
	n := 0
	for _, c := range group {
		fine := !thin.crowded(c.snap.Time)
		if c.why != "" && c.why != keepLast {
			continue
		}
		if p.MaxAge > 0 && e.now().Sub(c.at) > p.MaxAge {
			fine = false
		}
		if c.why == keepLast {
			n++
			continue
		}
		if fine && (p.MaxSnapshots == 0 || n < p.MaxSnapshots) {
			c.why = keepLimits
			n++
		}
	}
}

// A thinning keeps all of today, then the newest of each hour for some days,
// then the newest of each day.
type thinning struct {
	today, hourly time.Time
	on            bool
	taken         map[string]bool
}

// daysMax is further back than any snapshot, and within the calendar.
const daysMax = 1 << 20

func newThinning(now time.Time, days int) *thinning {
	days = min(days, daysMax)
	y, m, d := now.Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	return &thinning{today: today, hourly: today.AddDate(0, 0, -days), on: days > 0, taken: map[string]bool{}}
}

// crowded reports whether a newer one was met in the same hour or day.
func (t *thinning) crowded(at time.Time) bool {
	at = at.In(t.today.Location())
	if !t.on || !at.Before(t.today) {
		return false
	}
	slot := at.Format(time.DateOnly)
	if !at.Before(t.hourly) {
		slot = at.Format("2006-01-02T15-0700")
	}
	if t.taken[slot] {
		return true
	}
	t.taken[slot] = true
	return false
}

// fit drops the oldest of what may go until the rest fits into the budget.
// What a snapshot costs is what it alone adds to those that are kept before it.
func (e *Engine) fit(ctx context.Context, all []*candidate, budget int64) error {
	stats, err := e.opened().Stats(ctx)
	if err != nil {
		return storeError(err)
	}
	// The file is larger than its frames: rows, space left in pages.
	perByte := 1.0
	if stats.StoredBytes > 0 {
		perByte = min(max(float64(stats.FileBytes)/float64(stats.StoredBytes), 1), 2)
	}
	var total int64
	r := newReach(e, e.trees(ctx))
	for _, pinned := range []bool{true, false} {
		for _, c := range all {
			if c.foreign || c.why == "" || (c.why != keepLimits) != pinned {
				continue
			}
			n, err := e.cost(ctx, r, c.snap)
			if err != nil {
				return err
			}
			total += n
			if !pinned && float64(total)*perByte > float64(budget) {
				c.why = ""
			}
		}
	}
	return nil
}

// cost returns the bytes of the store that a snapshot needs and that were not
// counted before. What cannot be read costs nothing.
func (e *Engine) cost(ctx context.Context, r *reach, s *Snapshot) (total int64, err error) {
	var ids []oid.ID
	for o := range r.snapshot(s) {
		ids = append(ids, o.id)
	}
	err = e.view(ctx, func(v *records.View) error {
		for _, id := range ids {
			n, err := v.Stored(id)
			if errors.Is(err, cas.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			total += n
		}
		return ctx.Err()
	})
	return total, err
}
