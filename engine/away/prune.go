package away

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// Limits say which snapshots may go of a remote: those beyond the limits of a prune, if this machine has brought them
// there for this worktree; with AnyHost those of this history that other machines and worktrees have brought, too.
type Limits struct {
	*retention.Options
	AnyHost bool
}

// A Pruned says what a prune of a remote removed or, on a dry run, would.
type Pruned struct {
	Dropped []*Distant
	Limited bool // there were limits
	Here    int  // beyond them, and kept, as the store has them
	Wanted  int  // beyond them, and kept, as they have a label, pin or tag, or another machine has brought them too
	restic.Pruned
}

// unlistedAge is how long after a prune that has found a pack that no index names another one removes it: a program that
// takes no locks may be writing it.
const unlistedAge = 24 * time.Hour

// Prune drops snapshots beyond the limits, and removes what no snapshot needs, of whatever program. It needs the remote
// for itself alone: [restic.ErrLocked]. What is labelled stays, what the store has, and the newest of each worktree and
// machine. Where anything cannot be read that may be needed, nothing is removed.
func (r *Remotes) Prune(ctx context.Context, s *Session, lim *Limits) (*Pruned, error) {
	if err := durable.MakeDir(s.cache); err != nil {
		return nil, err
	}
	lock, err := durable.Lock(ctx, filepath.Join(s.cache, lockFile), durable.Exclusive)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if s.git != nil {
		return r.pruneGit(ctx, s, loadKnown(filepath.Join(s.cache, knownFile)), lim.DryRun)
	}
	l, held, err := s.repo.LockAlone(ctx)
	if err != nil {
		return nil, err
	}
	out, err := r.prune(held, s, l, lim)
	if cause := context.Cause(held); err != nil && cause != nil && ctx.Err() == nil {
		err = cause
	}
	return out, errors.Join(err, l.Unlock())
}

func (r *Remotes) prune(ctx context.Context, s *Session, l *restic.Lock, lim *Limits) (*Pruned, error) {
	if lim.Options = r.Limits(lim.Options); lim.MaxSnapshots < 0 || lim.MaxAge < 0 || lim.ThinDays < 0 {
		return nil, fmt.Errorf("%w: limits cannot be negative", records.ErrRefused)
	}
	index, err := s.repo.LoadIndex(ctx)
	if err != nil {
		return nil, err
	}
	var bad error
	all, err := s.repo.Snapshots(ctx, func(err error) { bad = errors.Join(bad, err) })
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("nothing is removed, as nobody knows what this needs: %w", err)
	}
	if len(all) == 0 && len(index) > 0 { // all else would go
		return nil, fmt.Errorf("%w: snapshots: there is none, though there are packs; nothing is removed (\"restic prune\" removes them)", ErrTampered)
	}
	out := &Pruned{Limited: lim.MaxSnapshots > 0 || lim.MaxAge > 0 || lim.ThinDays > 0}
	if err = r.beyond(ctx, ours(all), lim, out); err != nil {
		return nil, err
	}
	gone := map[restic.ID]bool{}
	var names, roots []restic.ID
	for _, d := range out.Dropped {
		for _, d := range append([]*Distant{d}, d.Copies...) {
			gone[d.ID] = true
			names = append(names, d.ID)
		}
	}
	for _, snap := range all {
		if !gone[snap.ID] {
			roots = append(roots, snap.Tree)
		}
	}
	need, err := s.repo.Reach(ctx, roots, nil)
	if err != nil {
		return nil, err
	}
	k := loadKnown(filepath.Join(s.cache, knownFile))
	plan, err := s.repo.PlanPrune(ctx, all, need, k.unlistedFor(unlistedAge))
	if err != nil {
		return nil, err
	}
	if out.Pruned = plan.Pruned; lim.DryRun {
		return out, nil
	}
	if err := s.repo.Forget(ctx, names); err != nil {
		return nil, err
	}
	if err := plan.Do(ctx, l); err != nil {
		return nil, err
	}
	if names, err = s.repo.IndexFiles(ctx); err != nil {
		return nil, err
	}
	k.pruned(names, gone, need)
	return out, k.save()
}

// dawn is before any snapshot: who has an older date had a clock that began anew.
var dawn = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// beyond finds what may go.
func (r *Remotes) beyond(ctx context.Context, all []*Distant, lim *Limits, out *Pruned) error {
	history, err := r.History(ctx)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	now := r.Owner.Now()
	groups := map[string][]*records.Snapshot{}
	byID := map[oid.ID]*Distant{}
	for _, d := range all {
		if d.History != history || !lim.AnyHost && (d.Hostname != host || !d.Has(worktreeTag, r.Owner.Key)) {
			continue
		}
		if d.Time.After(now) || d.Time.Before(dawn) {
			continue // a clock was wrong: nobody knows what it is older than, so it stays, and stands for no other
		}
		byID[d.Of] = d
		key := fmt.Sprintf("%q %q", d.Hostname, d.Said(worktreeTag))
		groups[key] = append(groups[key], &records.Snapshot{ID: d.Of, Time: d.Time})
	}
	here := map[oid.ID]bool{}
	err = r.View(ctx, func(v *records.View) error {
		for id := range byID {
			s, err := v.Find(byID[id].original())
			if err == nil && s == nil {
				s, err = v.Find(id)
			}
			if err != nil {
				return err
			}
			here[id] = s != nil
		}
		return nil
	})
	if err != nil {
		return err
	}
	stays := func(s *records.Snapshot) bool { return byID[s.ID].wanted(lim.AnyHost) }
	for _, list := range groups {
		for _, s := range retention.Beyond(list, func(*records.Snapshot) bool { return false }, lim.Options, now) {
			switch {
			case here[s.ID]:
				out.Here++
			case stays(s):
				out.Wanted++
			}
		}
		for _, s := range retention.Beyond(list, stays, lim.Options, now) {
			if !here[s.ID] {
				out.Dropped = append(out.Dropped, byID[s.ID])
			}
		}
	}
	return nil
}

// wanted reports whether somebody has given a snapshot a label or a pin, here or there, or another machine has brought it too.
func (d *Distant) wanted(anyHost bool) bool {
	for _, o := range append([]*Distant{d}, d.Copies...) {
		if len(o.Said(labelTag))+len(o.Said(pinTag)) > 0 || !anyHost && o.Hostname != d.Hostname || slices.ContainsFunc(o.Tags, func(t string) bool { return !isOurTag(t) }) {
			return true
		}
	}
	return false
}

// unlistedFor reports whether a pack that no index names was found by a prune before, so long ago. It takes note of those
// that were not.
func (k *known) unlistedFor(age time.Duration) func(restic.ID) bool {
	now := time.Now().Unix()
	return func(pack restic.ID) bool {
		at, ok := k.unlisted[pack]
		if !ok {
			k.unlisted[pack] = now
			k.row('u', pack[:], number(uint64(now)))
		}
		return ok && now-at > int64(age/time.Second)
	}
}

// pruned is what is known after a prune of our own: what is needed is there, and a directory is whole with its trees.
func (k *known) pruned(index []restic.ID, gone map[restic.ID]bool, need *restic.Reach) {
	old := *k
	k.doubt(index, func(oid.ID) bool { return true }, func(c content) bool {
		return !slices.ContainsFunc(c.blobs, func(b restic.ID) bool { return !need.Needs(restic.Data, b) })
	})
	for at, d := range old.dirs {
		if d.all(func(id restic.ID) bool { return need.Needs(restic.Tree, id) }) {
			k.addDir(at, d)
		}
	}
	for id := range gone {
		if _, ok := k.files[id]; ok {
			delete(k.files, id)
			k.row('g', id[:])
		}
	}
}
