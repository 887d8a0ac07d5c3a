package lookup

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Differ compares a snapshot with its base, which is nil if nothing came before.
type Differ interface {
	// Compare returns the paths at which they differ, in path order.
	Compare(base, s *records.Snapshot, trees tree.Loader) ([]changes.Change, error)
	// Touches reports whether they differ at one of the paths, or below it.
	Touches(base, s *records.Snapshot, paths Selection, trees tree.Loader) (bool, error)
}

// Memory is what a snapshot in the making holds in memory, and what it has read.
type Memory interface {
	Met(id oid.ID) ([]byte, bool)
	Object(id oid.ID) (oid.Kind, []byte, bool)
}

// A comparer sums up what snapshots changed, for one request. It is for one goroutine.
type comparer struct {
	differ Differ
	trees  tree.Loader
	lines  changes.Counter
}

// How much is read to count lines: beside a snapshot, that nobody waits for it,
// and by who wants to know.
var (
	countBeside = changes.Counter{Files: 4, Each: 64 << 10, All: 256 << 10}
	countAsked  = changes.Counter{Files: 128, Each: 1 << 20, All: 4 << 20, Last: true}
)

// besideTrees is how many trees are read beside a snapshot to tell what it changed.
const besideTrees = 256

// comparer makes a comparer; memory is of a snapshot in the making, nil for those
// that are recorded.
func (r *Reader) comparer(ctx context.Context, memory Memory) *comparer {
	c := &comparer{differ: r.Differ, lines: countAsked}
	how := objects.Reading{GitFirst: true}
	if memory != nil {
		c.lines, how.Staged = countBeside, memory.Met
	}
	read := 0
	load := r.Objects.Trees(ctx, how)
	c.trees = func(id oid.ID, _ ...oid.ID) ([]byte, error) {
		if read++; memory != nil && read > besideTrees {
			return nil, tree.ErrLarge
		}
		return load(id)
	}
	c.lines.Read = func(id oid.ID, most int64) ([]byte, bool) {
		if memory != nil {
			if _, data, ok := memory.Object(id); ok {
				return data, int64(len(data)) <= most
			}
		}
		return r.Objects.Small(ctx, id, most)
	}
	return c
}

// sum sums up how a snapshot differs from its base.
func (c *comparer) sum(base, s *records.Snapshot) (*changes.Changed, error) {
	list, err := c.differ.Compare(base, s, c.trees)
	if err != nil {
		return nil, err
	}
	if base == nil { // all of it is new
		all := changes.Counter{Last: true}
		return all.Sum(oid.ID{}, list), nil
	}
	return c.lines.Sum(base.ID, list), nil
}

// Summing begins to sum up what a snapshot in the making changes, in a goroutine beside
// what else is done before it is recorded. The function that it returns waits for the
// sum. Base is the snapshot with the id at, nil where there is no record of it. Where the
// two cannot be compared, the sum has that id alone: who wants to know it looks later.
func (r *Reader) Summing(ctx context.Context, memory Memory, at oid.ID, base, s *records.Snapshot) func() *changes.Changed {
	out, done := &changes.Changed{Base: at}, make(chan struct{})
	go func() {
		defer close(done)
		if base == nil || r.Fill(ctx, base) != nil {
			return
		}
		if c, err := r.comparer(ctx, memory).sum(base, s); err == nil {
			out = c
		}
	}()
	return func() *changes.Changed {
		<-done
		return out
	}
}
