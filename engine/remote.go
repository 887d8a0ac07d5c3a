package engine

import (
	"context"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/depot"
)

// Remotes returns the repositories elsewhere that the store's snapshots are kept in.
func (e *Engine) Remotes() *away.Remotes {
	return &away.Remotes{
		Dir: e.dir, Root: e.root, Objects: e.objects, View: e.view, Store: e.needStore, Owner: e.owner(),
		Place: func(url string) (depot.Place, error) {
			p, err := depot.Open(url)
			if err != nil {
				return nil, err
			}
			return depot.Paced(p, e.conf.PushLimit), nil
		},
		Taken:    e.occupied,
		Stamp:    func() string { return locate.Stamp(e.dir) },
		Identity: e.identity, AtHome: !e.conf.RemoteSecrets, Progress: e.progress, Bridge: e.mirror.Bridge, Limits: e.limits,
		Begin: func(ctx context.Context, alg oid.Algorithm) (bool, error) {
			if s, err := e.opened(ctx); err != nil || s != nil {
				if err != nil {
					return false, err
				}
				return e.lookup.Empty(ctx)
			}
			if e.repo == nil {
				e.alg, e.objects.Algorithm = alg, alg
			}
			return true, nil
		},
		Fill: e.fillRoot,
		Restore: func(ctx context.Context, id oid.ID) (*away.Written, error) {
			return written(e.Do(ctx, Op{To: id, Ignored: true})) // one that differs may be the beginning of what was being written
		},
	}
}

// occupied are the directories in which no remote is to lie: it would be recorded, or removed with the store or its worktree.
func (e *Engine) occupied(ctx context.Context) ([]away.Taken, error) {
	const recorded = ", so that snapshots would have it"
	list := []away.Taken{{Dir: e.root, As: "the worktree" + recorded}, {Dir: filepath.Dir(e.dir), As: "the directory in which the store is"}}
	if all, err := locate.OpenStores(e.opt.Getenv); err == nil { // in one that is somebody else's there is none of ours
		list = append(list, away.Taken{Dir: all.Dir(), As: "the directory of rewind's stores"})
	}
	err := e.view(ctx, func(v *records.View) error {
		all, err := v.Worktrees()
		for _, w := range all {
			if root := string(w.Root); root != e.root && locate.IsAt(root, w.Birth) {
				list = append(list, away.Taken{Dir: root, As: "another worktree of this history, " + root + recorded})
			}
		}
		return err
	})
	return list, err
}

func written(r *Restored, err error) (*away.Written, error) {
	if err != nil {
		return nil, err
	}
	return &away.Written{Files: r.Written, Conflicts: r.Conflicts}, nil
}

// A filling writes a snapshot into the worktree, which is empty, while its contents come.
type filling struct {
	*apply.Filler
	e *Engine
	s *Snapshot
	t *plan.Checkout
}

func (e *Engine) fillRoot(ctx context.Context, s *Snapshot, trees tree.Loader) (away.Filling, error) {
	t, err := plan.NewCheckout(s.State(), e.alg, trees)
	if err != nil {
		return nil, objects.TreeError(err)
	}
	f, err := apply.NewFiller(ctx, e.root, t.Steps, &apply.Filling{Alg: e.alg, Durable: true, Progress: e.progress("export")})
	if err != nil {
		return nil, err
	}
	return &filling{f, e, s, t}, nil
}

// Finish implements [away.Filling].
func (f *filling) Finish(ctx context.Context) (*away.Written, error) {
	out, err := f.Filler.Finish(ctx, f.e.objects.Prefetch(f.t.IDs).Except(f.Arrived).Write)
	return written(exported(f.s, f.t, out), err)
}
