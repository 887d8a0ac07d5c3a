package retention

import (
	"context"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

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
func (k *Keeper) applyLimits(group []*candidate, p *Options) {
	thin := newThinning(k.Now(), p.ThinDays)
	n, within := 0, keepLimits
	if p.unlimited() {
		within = keepAll
	}
	for _, c := range group {
		fine := !thin.crowded(c.snap.Time)
		if c.why != "" && c.why != keepLast {
			continue
		}
		if p.MaxAge > 0 && k.Now().Sub(c.at) > p.MaxAge {
			fine = false
		}
		if c.why == keepLast {
			n++
			continue
		}
		if fine && (p.MaxSnapshots == 0 || n < p.MaxSnapshots) {
			c.why = within
			n++
		}
	}
}

// Beyond returns those of some snapshots of a worktree, newest first, that are beyond the limits, but for that of the
// store's size. The first stays, and so do those that stays says.
func Beyond(list []*records.Snapshot, stays func(*records.Snapshot) bool, p *Options, now time.Time) (beyond []*records.Snapshot) {
	group := make([]*candidate, len(list))
	for i, s := range list {
		c := &candidate{snap: s, at: s.Time}
		if i == 0 {
			c.why = keepLast
		} else if stays(s) {
			c.why = keepPin
		}
		group[i] = c
	}
	k := &Keeper{Now: func() time.Time { return now }}
	k.applyLimits(group, p)
	for _, c := range group {
		if c.why == "" {
			beyond = append(beyond, c.snap)
		}
	}
	return beyond
}

// unlimited reports whether the options set no limit.
func (p *Options) unlimited() bool {
	return p.MaxSnapshots == 0 && p.MaxAge == 0 && p.MaxStoreSize == 0 && p.ThinDays == 0
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
func (k *Keeper) fit(ctx context.Context, all []*candidate, budget int64) error {
	weigh, err := k.Weigh(ctx)
	if err != nil {
		return err
	}
	var total float64
	for _, pinned := range []bool{true, false} {
		for _, c := range all {
			if c.foreign || c.why == "" || (c.why != keepLimits) != pinned {
				continue
			}
			n, err := weigh(c.snap)
			if err != nil {
				return err
			}
			total += n
			if !pinned && total > float64(budget) {
				c.why = ""
			}
		}
	}
	return nil
}

// dated says of snapshots, which come in the order of their records, newest
// first, when something last referred to them. A clock that was wrong for a while
// must not turn that order round: what it said of times to come counts for
// nothing, and no snapshot is older than those before it. One that was imported
// has the time of its checkpoint, whenever that was.
func dated(all []*candidate, refs *references, now time.Time) {
	next := now
	times := make([]time.Time, len(all))
	for i, c := range all {
		if times[i] = c.snap.Time; times[i].After(now) {
			times[i] = next
		}
		if !c.snap.Foreign() {
			next = times[i]
		}
	}
	var before time.Time
	for i := len(all) - 1; i >= 0; i-- {
		c := all[i]
		if c.at = times[i]; !c.snap.Foreign() {
			if before.After(c.at) {
				c.at = before
			}
			before = c.at
		}
		for _, p := range c.snap.Points {
			c.refer(p.Time, now)
		}
		c.refer(refs.live[c.snap.ID].Time, now)
	}
}

// refer takes note of a reference to a candidate.
func (c *candidate) refer(at, now time.Time) {
	if at.After(c.at) && !at.After(now) {
		c.at = at
	}
}
