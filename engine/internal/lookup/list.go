package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Options choose snapshots. The zero value is all of this worktree.
type Options struct {
	All       bool   // of every worktree that shares the store, and the checkpoints of other systems
	Session   string // only those with a point of this session; empty: any
	Limit     int    // at most so many; 0: all
	OnPurpose bool   // none that only restores took, before they changed files

	Older        oid.ID    // only those recorded before this one, to go on with a list; zero: from the newest
	Since, Until time.Time // only those from then on, or up to then; zero: any
	Trigger      string    // only those with a point that has this trigger; empty: any
	Grep         string    // only those of which a label or prompt has this text, whatever the case; empty: any
	Paths        []string  // only those that changed one of these paths; of none: any

	Wants   func(*records.Snapshot) bool // only those of which it is true; nil: any
	Changes bool                         // tell what each one changed
	Skipped func(records.Note)           // told of each ref that is no checkpoint after all; may be nil
}

// wants reports whether what a record says is what the options ask for.
func (o *Options) wants(s *records.Snapshot) bool {
	said := func(ok func(records.Point) bool) bool { return slices.ContainsFunc(s.Points, ok) }
	text := strings.ToLower(o.Grep)
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), text) }
	return (o.Wants == nil || o.Wants(s)) && (o.Since.IsZero() || !s.Time.Before(o.Since)) && (o.Until.IsZero() || !s.Time.After(o.Until)) &&
		(o.Trigger == "" || said(func(p records.Point) bool { return p.Trigger == o.Trigger })) &&
		(o.Grep == "" || said(func(p records.Point) bool { return has(p.Label) || has(p.Prompt) }))
}

// List returns snapshots, newest first. Where the store has none, as after it
// was deleted, they are those that the store ref keeps. With a [records.ErrDamaged]
// come those whose records are whole, or of which it can be told what they changed.
func (r *Reader) List(ctx context.Context, opt *Options) ([]*records.Snapshot, error) {
	if opt == nil {
		opt = &Options{}
	}
	l := &listing{r: r, opt: opt, bases: bases{r: r}}
	if err := l.choose(ctx); err != nil {
		return nil, err
	}
	damage := l.query(ctx)
	if damage != nil && !errors.Is(damage, records.ErrDamaged) {
		return nil, damage
	}
	var err error
	var beside []*records.Snapshot
	switch {
	case !opt.Older.IsZero(): // what is beside the store came with the newest
	case opt.All:
		beside, err = r.beside(ctx, true, opt.Skipped)
	default:
		beside, err = r.orphans(ctx)
	}
	out := l.found
	for _, s := range beside {
		if s.InSession(opt.Session) && opt.wants(s) && l.touches(ctx, s) {
			out = append(out, s)
		}
	}
	if len(beside) > 0 {
		newestFirst(out)
	}
	if opt.Limit > 0 && len(out) > opt.Limit {
		out = out[:opt.Limit]
	}
	if err == nil {
		err = r.Fill(ctx, out...)
	}
	if err == nil && opt.Changes {
		err = r.settle(ctx, out)
	}
	return out, errors.Join(damage, err, l.damage)
}

// A listing is one list in the making.
type listing struct {
	r       *Reader
	opt     *Options
	paths   Selection // nil: any
	compare *comparer
	bases   bases
	found   []*records.Snapshot
	damage  error // why it cannot be told of some what they changed
}

func (l *listing) choose(ctx context.Context) (err error) {
	if len(l.opt.Paths) == 0 {
		return nil
	}
	l.paths, err = l.r.Select(ctx, l.opt.Paths)
	l.compare = l.r.comparer(ctx, nil)
	return err
}

// query finds those of the store's snapshots that the options choose. Beside a
// damaged record the others are found.
func (l *listing) query(ctx context.Context) (damage error) {
	older, opt := l.opt.Older, l.opt
	for {
		q := &records.Query{All: opt.All, Session: opt.Session, OnPurpose: opt.OnPurpose, Older: older, Since: opt.Since, Until: opt.Until, Wants: opt.wants}
		if opt.Limit > 0 {
			q.Limit = opt.Limit - len(l.found)
		}
		if l.paths != nil {
			q.Touches = touching(l.paths)
		}
		err := l.r.View(ctx, q.Read)
		if err != nil && !errors.Is(err, records.ErrDamaged) {
			return err
		}
		list, bad := q.Snapshots()
		damage = errors.Join(damage, err, bad)
		for _, s := range list {
			if !q.Doubt[s.ID] || l.touches(ctx, s) {
				l.found = append(l.found, s)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if q.Limit == 0 || len(list) < q.Limit || len(l.found) == opt.Limit {
			return damage
		}
		older = list[len(list)-1].ID
	}
}

// touches reports whether a snapshot changed one of the paths. One of which that
// cannot be told is left out, and named.
func (l *listing) touches(ctx context.Context, s *records.Snapshot) bool {
	if l.paths == nil {
		return true
	}
	base, err := l.bases.of(ctx, s)
	if err == nil {
		err = l.r.Fill(ctx, s)
	}
	yes := false
	if err == nil {
		yes, err = l.r.Differ.Touches(base, s, l.paths, l.compare.trees)
	}
	if err != nil && ctx.Err() == nil {
		l.damage = errors.Join(l.damage, fmt.Errorf("%w: what snapshot %v changed cannot be told: %w", records.ErrDamaged, s.ID, err))
	}
	return yes
}

// beside returns all that git has beside the store, newest first.
func (r *Reader) beside(ctx context.Context, told bool, skipped func(records.Note)) ([]*records.Snapshot, error) {
	if r.Objects.Git == nil {
		return nil, nil
	}
	o, err := r.Outside(ctx)
	if err != nil {
		return nil, err
	}
	list, err := o.all(ctx, told, skipped)
	newestFirst(list)
	return list, err
}

// newestFirst sorts by time; what has the same time keeps its order.
func newestFirst(list []*records.Snapshot) {
	slices.SortStableFunc(list, func(a, b *records.Snapshot) int { return b.Time.Compare(a.Time) })
}

// orphans returns the snapshots of ours that the store ref keeps, if the store
// has no record of any.
func (r *Reader) orphans(ctx context.Context) ([]*records.Snapshot, error) {
	if r.Objects.Git == nil {
		return nil, nil
	}
	if empty, err := r.Empty(ctx); err != nil || !empty {
		return nil, err
	}
	o, err := r.Outside(ctx)
	if err != nil {
		return nil, err
	}
	list, err := o.Lost(ctx)
	return slices.DeleteFunc(list, (*records.Snapshot).Foreign), err
}

// Empty reports whether the store has no record of any snapshot.
func (r *Reader) Empty(ctx context.Context) (bool, error) {
	used, err := records.Read(ctx, r.View, func(v *records.View) (bool, error) { return !v.Empty(), nil })
	return !used, err
}

// Before returns the snapshot of the same worktree that was recorded on purpose
// before s, nil if there is none.
func (r *Reader) Before(ctx context.Context, s *records.Snapshot) (earlier *records.Snapshot, err error) {
	earlier, err = records.Read(ctx, r.View, func(v *records.View) (*records.Snapshot, error) { return v.Before(s) })
	if err == nil {
		err = r.Fill(ctx, earlier)
	}
	return earlier, err
}

// beforeCheckpoint returns the checkpoint of the same system, conversation and
// branch that came before s, out of a list with the newest first.
func beforeCheckpoint(list []*records.Snapshot, s *records.Snapshot) *records.Snapshot {
	session := func(s *records.Snapshot) string {
		if len(s.Points) == 0 {
			return ""
		}
		return s.Points[0].Session
	}
	for _, t := range list {
		if t.Time.Before(s.Time) && t.Source.Kind == s.Source.Kind && t.Branch == s.Branch && session(t) == session(s) {
			return t
		}
	}
	return nil
}
