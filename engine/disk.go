package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// What history costs on the disk, and what git still holds of what was dropped.
//
// What it costs is the size of the store's file, and in git that of the packs and
// loose objects that the notes beside the ref name as ours. After git gc they are in
// git's own pack and not counted any more; status says so. A sum of what was ever
// written into git would grow for ever, and to ask git for the size of what is
// reachable takes too long for a status.
//
// A prune touches no object of git: another's commit may rest on one by now. Git
// deletes what nothing refers to when it collects, after a grace (gc.pruneExpire, two
// weeks). What only dropped snapshots need is told as an upper bound: it is compared
// with the snapshots that stay and with HEAD, as to walk all branches and their past
// takes minutes in a large repository.

// noticeCost is the notice of what history costs. In the place of a path it has
// the number of bytes at which that was said.
const noticeCost = "cost"

// A cost is what history costs on the disk, in bytes.
type cost struct {
	Store int64 // of the store's file
	Git   int64 // of the files that rewind wrote among git's objects; what git has packed anew since is not counted
	Free  int64 // that the user may still write there; -1: the system does not tell
}

// much reports whether that is more than a tenth of what is free.
func (c cost) much() bool { return c.Free >= 0 && c.Store+c.Git > c.Free/10 }

// costNow looks what history costs. It reads sizes of files, and of git's only of
// those that the notes name as ours.
func (e *Engine) costNow() cost {
	return e.costWith((*gitbridge.Repo).Weight)
}

func (e *Engine) costWith(weigh func(*gitbridge.Repo) int64) cost {
	c := cost{Free: -1}
	if st, err := os.Stat(filepath.Join(e.dir, storeFile)); err == nil {
		c.Store = st.Size()
	}
	if e.repo != nil {
		c.Git = weigh(e.repo)
	}
	free := e.free
	if free == nil {
		free = durable.Free
	}
	if n, err := free(e.dir); err == nil {
		c.Free = n
	}
	return c
}

// toldCost returns what history costs if that is much and to be said now: once,
// and again when it has doubled. It is nil otherwise.
func (e *Engine) toldCost(ctx context.Context) *cost {
	c := e.costWith((*gitbridge.Repo).PacksWeight) // after each snapshot: of the rest there is never much
	if !c.much() {
		return nil
	}
	last, err := e.notice(ctx, noticeCost)
	if err != nil {
		return nil // the store says so elsewhere
	}
	var said int64
	if len(last) > 0 {
		said, _ = strconv.ParseInt(string(last[0]), 10, 64) // what is no number was not said
	}
	total := c.Store + c.Git
	if total < 2*said {
		return nil
	}
	now := []Path{Path(strconv.FormatInt(total, 10))}
	if err := e.update(ctx, func(u *records.Update) error { return u.PutNotice(noticeCost, now) }); err != nil {
		return nil // it will be said when the store can be written
	}
	return &c
}

// held says what git still has of snapshots that are dropped: what neither others
// nor HEAD's commit need. It is what may go at most, for other branches are not
// looked at.
func (e *Engine) held(ctx context.Context, out *Housekeeping) error {
	if e.repo == nil || len(out.Dropped) == 0 {
		return nil
	}
	e.repo.Refresh()
	e.sayHow(out)
	gone := map[oid.ID]bool{}
	for _, s := range out.Dropped {
		gone[s.ID] = true
	}
	all, err := records.Read(ctx, e.view, (*records.View).Snapshots)
	if err != nil {
		return err
	}
	var head oid.ID
	if h, err := e.repo.Head(); err == nil {
		head = h.Tree
	}
	w := &retention.Walk{Algorithm: e.alg, Load: e.objects.Trees(ctx, objects.Reading{Once: true})}
	others := slices.DeleteFunc(all, func(s *Snapshot) bool { return gone[s.ID] })
	ids, err := w.Beyond(ctx, out.Dropped, others, head)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id oid.ID) bool { return !e.repo.Has(id) })
	out.Git.Objects = len(ids)
	if n, size, err := e.repo.DiskSize(ctx, ids); err == nil { // or else their size stays unknown
		out.Git.Objects, out.Git.Bytes = n, size
	}
	return ctx.Err()
}
