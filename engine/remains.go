package engine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Remains is what git may still have of purged contents, and for how long.
// All of it is empty without git.
type Remains struct {
	Objects int    // purged contents that are in git's object database now
	Expire  string // gc.pruneExpire: how long git keeps objects that nothing refers to
	Reflog  bool   // the store ref has a reflog, which refers to the old snapshots
	Tracked []Path // purged paths that HEAD's commit has: then git's own history keeps them
}

// remains looks at what git still has of a purge.
func (e *Engine) remains(ctx context.Context, p *purging) Remains {
	var r Remains
	if e.repo == nil {
		return r
	}
	e.repo.Refresh()
	for id := range p.blobs {
		if e.repo.Has(id) {
			r.Objects++
		}
	}
	if r.Expire, _ = e.git.String("gc.pruneexpire"); r.Expire == "" {
		r.Expire = "2.weeks.ago"
	}
	log := filepath.Join(e.repo.Layout().CommonDir, "logs", filepath.FromSlash(gitbridge.StoreRef))
	if _, err := os.Stat(log); err == nil {
		r.Reflog = true
	}
	head, err := e.repo.Head()
	if err != nil || head.Tree.IsZero() {
		return r
	}
	for path := range p.removed {
		if n, _, err := tree.Lookup(tree.State{Tree: head.Tree}, path, e.alg, e.objects.Trees(ctx, objects.Reading{Once: true})); err == nil && n.Git.Name != "" {
			r.Tracked = append(r.Tracked, Path(path))
		}
	}
	return r
}

// finish makes the purge physical: the ref lets go of the old snapshots, and
// the store's file is written anew without the contents.
func (p *purging) finish(ctx context.Context, out *Purged) error {
	e := p.e
	out.Bridge = e.mirror.Bridge(ctx)
	s := e.opened()
	// No grace: these contents are to go now. A snapshot that is being made
	// meanwhile and relied on one of them notices, and begins again.
	_, err := s.Sweep(ctx, e.sweeping(ctx, cas.SweepOptions{Grace: -1, Now: e.now()}, nil))
	if err != nil {
		return objects.StoreError(err)
	}
	before, after, err := s.Compact(ctx)
	if err != nil {
		return objects.StoreError(err)
	}
	out.Freed = before - after
	return e.view(ctx, func(v *records.View) error {
		for id := range p.blobs {
			if v.Has(id) {
				out.Shared++
			}
		}
		return nil
	})
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
