package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A living finds every object that a snapshot, an operation's journal or a rule
// needs. It looks twice: at length while others use the store, and then, with
// the store held, at what they have recorded meanwhile, which is little.
type living struct {
	e       *Engine
	ctx     context.Context
	gone    map[oid.ID]bool // snapshots about to be dropped
	r       *retention.Walk
	visited map[string][sha256.Size]byte // see [records.View.News]
}

// sweeping completes the options of a sweep that keeps what lives.
func (e *Engine) sweeping(ctx context.Context, opt cas.SweepOptions, gone map[oid.ID]bool) cas.SweepOptions {
	l := &living{e: e, ctx: ctx, gone: gone}
	opt.Live = l.all
	opt.Rest = func(v *cas.View, mark func(oid.ID)) error { return l.rest(records.In(v, e.owner()), mark) }
	return opt
}

// all marks what lives when it is called. Others may drop a snapshot while it
// is walked through, and sweep its contents. That is no damage: the walk begins
// anew, since not all of what it met was followed.
func (l *living) all(mark func(oid.ID)) error {
	for tries := 1; ; tries++ {
		l.r, l.visited = l.e.reach(nil), map[string][sha256.Size]byte{}
		var keep []*Snapshot
		err := l.e.view(l.ctx, func(v *records.View) (err error) {
			keep, err = l.unmarked(v, mark)
			return err
		})
		if err != nil {
			return err
		}
		at, err := l.walk(keep, l.e.objects.Trees(l.ctx, objects.Reading{Once: true}), mark)
		if err == nil || tries == sweptTries {
			return err
		}
		if recorded, other := l.e.isRecorded(l.ctx, at); recorded || other != nil {
			return err
		}
	}
}

// rest marks what was recorded since.
func (l *living) rest(v *records.View, mark func(oid.ID)) error {
	keep, err := l.unmarked(v, mark)
	if err != nil {
		return objects.StoreError(err)
	}
	_, err = l.walk(keep, l.e.objects.Trees(l.ctx, objects.Reading{In: v.View, Once: true}), mark)
	return err
}

// unmarked marks what operations need, and returns the snapshots that are not dropped and
// that it has not returned before.
func (l *living) unmarked(v *records.View, mark func(oid.ID)) (keep []*Snapshot, err error) {
	contents, snaps, err := v.News(l.visited)
	for _, id := range contents {
		mark(id)
	}
	return slices.DeleteFunc(snaps, func(s *Snapshot) bool { return l.gone[s.ID] }), err
}

// walk marks what snapshots need. It returns the snapshot where it failed.
func (l *living) walk(snaps []*Snapshot, load tree.Loader, mark func(oid.ID)) (at oid.ID, err error) {
	l.r.Load = load
	for _, snap := range snaps {
		for o, err := range l.r.Snapshot(snap) {
			if snap.Lost != "" {
				err = nil // it is known not to be whole: what is left of it stays
			}
			if err = errors.Join(err, l.ctx.Err()); err != nil {
				return snap.ID, err
			}
			mark(o.ID)
		}
	}
	return oid.ID{}, nil
}

// promised gives a walk what it needs to know of partial clones, see
// [retention.Walk].
func (e *Engine) promised(s *Snapshot, load tree.Loader) func(oid.ID) bool {
	if e.repo == nil {
		return nil
	}
	return e.repo.Promised(s.Tree, s.Overlay, load)
}

// reach returns a walk over what snapshots need.
func (e *Engine) reach(load tree.Loader) *retention.Walk {
	return &retention.Walk{Algorithm: e.alg, Load: load, Promised: e.promised}
}
